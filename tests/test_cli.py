"""The porch of the command line: help, versions, mistakes, and how quickly it opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .command_line import Acidtest, error_of

HEAVY = {"torch", "transformers", "vllm", "docker", "ray", "datasets", "pandas"}


def test_help_names_every_command(acidtest: Acidtest) -> None:
    done = acidtest("--help")
    assert done.returncode == 0
    for command in ("train", "verify", "run", "envs", "doctor"):
        assert f"acidtest {command}" in done.stdout


def test_no_command_shows_the_help_and_fails(acidtest: Acidtest) -> None:
    done = acidtest()
    assert (done.returncode, done.stdout) == (2, "")
    assert "acidtest verify" in done.stderr


def test_version(acidtest: Acidtest) -> None:
    assert acidtest("--version").stdout == "acidtest 0.1.0\n"


@pytest.mark.parametrize("command", ["train", "verify", "run", "envs", "doctor"])
def test_every_command_explains_itself(acidtest: Acidtest, command: str) -> None:
    done = acidtest(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: acidtest {command}")


def test_misspelt_command_suggests_the_nearest(acidtest: Acidtest) -> None:
    assert "unknown command 'verfy'; did you mean 'verify'?" in error_of(acidtest("verfy"))


@pytest.mark.parametrize(
    ("args", "suggestion"),
    [
        (("verify", "--envs", "math"), "--env"),
        (("verify", "--env", "math", "--outputs=x"), "--output"),
        (("run", "x.py", "--memory", "5"), "--memory-mb"),
        (("envs", "--hlep"), "--help"),
        (("train", "--lerning-rate", "1"), "--learning-rate"),
    ],
)
def test_misspelt_flag_suggests_the_nearest(acidtest: Acidtest, args: tuple[str, ...], suggestion: str) -> None:
    assert f"did you mean '{suggestion}'?" in error_of(acidtest(*args))


def test_envs_lists_the_built_in_ones_with_what_they_ask(acidtest: Acidtest) -> None:
    done = acidtest("envs")
    assert done.returncode == 0
    listed = dict(line.split("\t") for line in done.stdout.splitlines())
    assert {"arithmetic", "code", "countdown", "math"} <= set(listed)
    assert all(len(text) > 10 for text in listed.values())


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["envs"],
        ["verify", "--help"],
        ["verify", "--env", "arithmetic", "--input", "in.jsonl", "--output", "out.jsonl"],
        ["run", "program.py"],
    ],
)
def test_only_training_loads_torch(args: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print(1)")
    (tmp_path / "in.jsonl").write_text('{"id": "a", "prompt": "What is 1 + 1?", "answer": "2", "completion": "2"}\n')
    program = (
        "import sys; from acidtest.cli import main\n"
        f"try:\n    code = main({args!r})\nexcept SystemExit as end:\n    code = end.code\n"
        "print('loaded', code, *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    _, code, *loaded = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert HEAVY.isdisjoint(loaded)
