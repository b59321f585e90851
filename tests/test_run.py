"""`acidtest run`: one outcome as JSON, whatever the program does."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from acidtest.sandbox import Outcome

from .command_line import Acidtest, error_of


def outcome_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    outcome: dict[str, Any] = json.loads(line)
    return outcome


def test_the_outcome_has_the_public_fields(acidtest: Acidtest, tmp_path: Path) -> None:
    (tmp_path / "add.py").write_text("print(sum(map(int, input().split())))")
    (tmp_path / "in.txt").write_text("2 3\n")
    outcome = outcome_of(acidtest("run", "add.py", "--language", "python", "--stdin", "in.txt"))
    assert list(outcome) == [field.name for field in fields(Outcome)]
    assert (outcome["status"], outcome["exit_code"], outcome["signal"]) == ("ok", 0, None)
    assert (outcome["stdout"], outcome["stderr"], outcome["truncated"]) == ("5\n", "", False)
    assert 0 < outcome["cpu_s"] < 10
    assert 0 < outcome["wall_s"] < 30


def test_bytes_that_are_no_text_are_escaped(acidtest: Acidtest, tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_text(r"import sys; sys.stdout.buffer.write(b'\xff\x00' + 'ü'.encode())")
    assert outcome_of(acidtest("run", "bytes.py"))["stdout"] == "\\xff\x00ü"


@pytest.mark.parametrize(
    ("source", "flags", "status"),
    [
        ("raise SystemExit(7)", (), "nonzero_exit"),
        ("import os; os.kill(os.getpid(), 9)", (), "signalled"),
        ("while True: pass", ("--cpu-s", "1"), "time_limit"),
        ("import time; time.sleep(60)", ("--cpu-s", "1", "--wall-s", "1"), "time_limit"),
        ("x = bytearray(400 << 20); print(sum(x[::4096]))", ("--memory-mb", "128"), "memory_limit"),
        ("print('x' * 5000)", ("--output-kb", "2"), "output_limit"),
    ],
)
def test_limits_are_flags(acidtest: Acidtest, tmp_path: Path, source: str, flags: tuple[str, ...], status: str) -> None:
    (tmp_path / "program.py").write_text(source)
    assert outcome_of(acidtest("run", "program.py", *flags))["status"] == status


def test_standard_input_is_passed_on_only_when_asked(acidtest: Acidtest, tmp_path: Path) -> None:
    (tmp_path / "cat.py").write_text("import sys; print(sys.stdin.read())")
    assert outcome_of(acidtest("run", "cat.py", stdin="hello"))["stdout"] == "\n"
    assert outcome_of(acidtest("run", "cat.py", "--stdin", "-", stdin="hello"))["stdout"] == "hello\n"


def test_the_extension_says_the_language(acidtest: Acidtest, tmp_path: Path) -> None:
    (tmp_path / "hello.cc").write_text('#include <iostream>\nint main() { std::cout << "hi"; }\n')
    assert outcome_of(acidtest("run", "hello.cc"))["stdout"] == "hi"
    (tmp_path / "program").write_text("print(1)")
    assert "'program' does not say the language; add --language" in error_of(acidtest("run", "program"))
    assert outcome_of(acidtest("run", "program", "--language", "python"))["stdout"] == "1\n"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("gone.py",), "cannot read the program gone.py: No such file or directory"),
        ((".", "--language", "python"), "cannot read the program .: Is a directory"),
        (("latin.py",), "the program latin.py is not UTF-8 text (byte 3)"),
        (("good.py", "--language", "pyhton"), "unknown language 'pyhton'; did you mean 'python'?"),
        (("good.py", "--stdin", "gone.txt"), "cannot read the standard input gone.txt: No such file"),
        (("good.py", "--cpu-s", "0"), "cpu_s"),
        (("good.py", "--memory-mb", "-5"), "memory_mb"),
        (("good.py", "--sandbox", "bubblewarp"), "did you mean 'bubblewrap'?"),
    ],
)
def test_a_mistake_is_one_sentence(acidtest: Acidtest, tmp_path: Path, args: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "good.py").write_text("print(1)")
    (tmp_path / "latin.py").write_bytes(b"# \xe4\n")
    assert sentence in error_of(acidtest("run", *args))
