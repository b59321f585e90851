"""What README.md shows is run here: its Python, its console sessions, and the names in its shell lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from acidtest.trainer.command import parse

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", re.MULTILINE | re.DOTALL)
PROGRAM = ("python", "text")
OWN_BIN = str(Path(sys.executable).parent)


def shell(command: str, folder: Path) -> str:
    """Output and errors of a shell command that must succeed, with `acidtest` on its path."""
    environment = {**os.environ, "PATH": f"{OWN_BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def assert_shows(found: str, shown: str) -> None:
    """`shown` is `found`, where `...` stands for anything within a line."""
    pattern = re.escape(shown.rstrip()).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, found.rstrip()), f"README.md shows\n{shown}\nand this came:\n{found}"


def sessions() -> list[tuple[str, str]]:
    """Each command of the console blocks, with its here-document, and what is shown below it."""
    found = []
    for language, text in BLOCKS:
        if language == "console":
            for command, rest in SESSION.findall(text):
                body, mark, output = rest.partition("END\n") if "<<'END'" in command else ("", "", rest)
                found.append((f"{command}\n{body}{mark}", output))
    return found


def test_console_sessions_show_what_happens(tmp_path: Path) -> None:
    commands = sessions()
    assert len(commands) >= 7
    for command, output in commands:
        assert_shows(shell(command, tmp_path), output)


def test_python_shows_what_happens(tmp_path: Path) -> None:
    programs = [(text, shown) for (first, text), (second, shown) in pairwise(BLOCKS) if (first, second) == PROGRAM]
    assert len(programs) == 1
    for text, shown in programs:
        (tmp_path / "program.py").write_text(text)
        assert_shows(shell("python program.py", tmp_path), shown)


def test_own_environment_takes_ten_lines_and_works_as_the_readme_says(tmp_path: Path) -> None:
    (text,) = [text for language, text in BLOCKS if language == "python" and "@register" in text]
    definition = text.partition("if __name__")[0]
    assert len([line for line in definition.splitlines() if line.strip()]) <= 10
    (tmp_path / "parity.py").write_text(text)
    lines = '{"answer": "odd", "completion": "Odd "}\n{"answer": "odd", "completion": "even"}\n'
    (tmp_path / "in.jsonl").write_text(lines)
    shown = shell("python parity.py verify --env parity --input in.jsonl --output - 2>errors", tmp_path)
    assert re.findall(r'"reward": ([\d.]+)', shown) == ["1.0", "0.0"]
    assert "parity\tSay whether a number is even or odd." in shell("python parity.py envs", tmp_path)


def test_shell_lines_name_what_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    makefile = (ROOT / "Makefile").read_text()
    lines = [line for language, text in BLOCKS if language == "bash" for line in text.splitlines()]
    assert len(lines) >= 4
    for line in lines:
        program, *args = line.split()
        if program == "make":
            assert re.search(rf"^{args[0]}:", makefile, re.MULTILINE), line
        elif program == ".venv/bin/acidtest":
            assert args[0] == "train"
            assert parse(args[1:]).env == "arithmetic"
        else:
            assert program == ".venv/bin/python"
            assert (ROOT / args[0]).is_file(), line


def test_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text()
    headings = {re.sub(r"[^\w\- ]", "", line.strip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings
        else:
            assert (ROOT / target).exists(), target
