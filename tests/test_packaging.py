"""What people install: the wheel and the sdist hold the real folders, work elsewhere, and are quick to import."""

from __future__ import annotations

import shutil
import site
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = [
    "torch",
    "transformers",
    "vllm",
    "docker",
    "ray",
    "sympy",
    "numpy",
    "pandas",
    "math_verify",
    "datasets",
    "tyro",
]
IMPORT_CPU_SECONDS = 0.3


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed; no variable of ours reaches it."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        list(map(str, command)), check=False, cwd=cwd, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, f"{command} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of the checkout in `direct/`, the sdist and the wheel that comes of it in `dist/`."""
    folder = tmp_path_factory.mktemp("built")
    # Built from a copy: setuptools leaves folders behind, and would put their stale files into the next wheel.
    ignored = shutil.ignore_patterns(".venv*", ".git", "runs", "models", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, folder / "checkout", symlinks=True, ignore=ignored)
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run(*build, "--outdir", folder / "dist", cwd=folder / "checkout")
    run(*build, "--wheel", "--outdir", folder / "direct", cwd=folder / "checkout")
    return folder


def wheel_of(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(built: Path) -> Path:
    """An environment of its own into which the wheel made from the sdist is installed, without dependencies."""
    folder = built / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel_of(built / "dist"), cwd=built)
    return folder


@pytest.fixture(scope="module")
def complete(installed: Path) -> Path:
    """The same environment, with the packages of this one behind it."""
    (packages,) = (installed / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return installed


def ours(suffixes: tuple[str, ...]) -> set[str]:
    """The files of the three folders and of the porch, as a wheel names them."""
    porch = [path for path in (ROOT / "acidtest").rglob("*") if path.is_file()]
    rooms = [path for room in ("envs", "sandbox", "trainer") for path in (ROOT / room).rglob("*")]
    names = {str(path.relative_to(ROOT / "acidtest")) for path in porch}
    names |= {str(path.relative_to(ROOT)) for path in rooms}
    return {f"acidtest/{name}" for name in names if name.endswith(suffixes)}


def test_wheel_holds_every_file_of_ours(built: Path) -> None:
    expected = ours((".py", ".jsonl", ".toml", "py.typed"))
    assert {"acidtest/sandbox/program.py", "acidtest/envs/task.py", "acidtest/trainer/demo.toml"} <= expected
    for folder in ("dist", "direct"):
        with zipfile.ZipFile(wheel_of(built / folder)) as wheel:
            infos = wheel.infolist()
        found = {info.filename for info in infos if info.filename.startswith("acidtest/")}
        assert found == expected
        assert not [info.filename for info in infos if (info.external_attr >> 16) & 0o170000 == 0o120000], "a link"
        tops = {info.filename.partition("/")[0] for info in infos}
        assert {top for top in tops if not top.endswith(".dist-info")} == {"acidtest"}


def test_wheel_states_its_licence(built: Path) -> None:
    with zipfile.ZipFile(wheel_of(built / "dist")) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        metadata = wheel.read(name).decode()
        licences = [name for name in wheel.namelist() if name.endswith("/LICENSE")]
    assert "License-Expression: Apache-2.0" in metadata
    assert len(licences) == 1


def test_sdist_holds_what_a_build_needs(built: Path) -> None:
    (path,) = (built / "dist").glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        members = sdist.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert ours((".py", ".jsonl", ".toml", "py.typed")) <= names
    assert not [member.name for member in members if member.issym()]


def test_wheel_imports_elsewhere_without_any_dependency(installed: Path, tmp_path: Path) -> None:
    program = "import acidtest.envs, acidtest.sandbox; print(acidtest.envs.__file__)"
    where = run(installed / "bin" / "python", "-S", "-c", _with_packages(installed, program), cwd=tmp_path)
    assert where.strip().startswith(str(installed))


def _with_packages(environment: Path, program: str) -> str:
    # Under -S no .pth file is read: the packages that `complete` borrows are out of reach.
    (packages,) = (environment / "lib").glob("python*/site-packages")
    return f"import sys; sys.path.append({str(packages)!r}); {program}"


def test_installed_command_works_elsewhere(complete: Path, tmp_path: Path) -> None:
    command = complete / "bin" / "acidtest"
    assert run(command, "--version", cwd=tmp_path) == "acidtest 0.1.0\n"
    listed = run(command, "envs", cwd=tmp_path)
    assert {"arithmetic", "code", "countdown", "math"} <= {line.partition("\t")[0] for line in listed.splitlines()}
    where = run(complete / "bin" / "python", "-c", "import acidtest; print(acidtest.__file__)", cwd=tmp_path)
    assert where.startswith(str(complete)), "the checkout was imported, not the wheel"


def test_installed_wheel_finds_its_bundled_files(complete: Path, tmp_path: Path) -> None:
    program = "from acidtest.trainer.config import DEMO_CONFIG, load_config; print(load_config(DEMO_CONFIG).env)"
    assert run(complete / "bin" / "python", "-c", program, cwd=tmp_path) == "arithmetic\n"
    program = "from acidtest.envs import make; print(len(make({!r}).tasks('all')))"
    for name, least in (("math", 60), ("code", 30)):
        assert int(run(complete / "bin" / "python", "-c", program.format(name), cwd=tmp_path)) >= least


@pytest.mark.parametrize("module", ["acidtest", "acidtest.envs", "acidtest.sandbox"])
def test_import_is_light(module: str, tmp_path: Path) -> None:
    program = (
        "import sys, time; started = time.process_time(); "
        f"import {module}; print(time.process_time() - started, *sys.modules)"
    )
    answers = [run(sys.executable, "-c", program, cwd=tmp_path).split() for _ in range(3)]
    loaded = {name.partition(".")[0] for name in answers[0][1:]}
    assert loaded.isdisjoint(HEAVY)
    assert min(float(answer[0]) for answer in answers) < IMPORT_CPU_SECONDS
