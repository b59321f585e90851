# Everything is set up on the way: the system's packages, .venv and the pinned packages in it.
# Another Python: make PYTHON=python3.12 demo

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow venv system clean

demo: $(STAMP) system  ## Train the embedded default: a toy model learns to add.
	$(BIN)/acidtest train

test: $(STAMP) system  ## Linter, formatter, types and the test suite.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

test-slow: $(STAMP) system  ## The tests that take minutes each.
	$(BIN)/python -m pytest -q -m slow --timeout 3600

venv: $(STAMP)

# An interrupted installation leaves no stamp, so the next call takes it up again.
$(STAMP): pyproject.toml constraints.txt | system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "acidtest needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo absent);" \
	         "install one and name it: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing the pinned packages into $(VENV); the first time takes some minutes"
	$(BIN)/python -m pip install -q -c constraints.txt setuptools
	$(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# bubblewrap isolates untrusted programs, g++ compiles those in C++; a system Python may come without venv.
system:
	@missing=; \
	command -v bwrap >/dev/null || missing="$$missing bubblewrap"; \
	command -v g++ >/dev/null || missing="$$missing g++"; \
	if [ ! -x $(BIN)/python ] && ! $(PYTHON) -c 'import ensurepip' >/dev/null 2>&1; then \
	    missing="$$missing python3-venv"; fi; \
	[ -n "$$missing" ] || exit 0; \
	if ! command -v apt-get >/dev/null; then \
	    echo "acidtest needs$$missing, and this machine has no apt-get to install them (those are Debian's" \
	         "names): install them with its own package manager, then call make again" >&2; exit 1; fi; \
	sudo=; \
	if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; \
	    if ! command -v sudo >/dev/null; then \
	        echo "acidtest needs$$missing, and you are neither root nor is there sudo: ask an administrator for" \
	             "apt-get install$$missing" >&2; exit 1; fi; fi; \
	echo "installing$$missing with apt-get"; \
	{ $$sudo apt-get -qq update; \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing; } || { \
	    echo "apt-get could not install$$missing (its message is above): mend that, then call make again" >&2; \
	    exit 1; }

clean:  ## Remove what make and the tools made, except runs and models.
	rm -rf $(VENV) build dist ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
