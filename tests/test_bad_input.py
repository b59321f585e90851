"""What a user gets wrong, end to end: one clear sentence, exit code 2, no traceback, nothing left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .command_line import Acidtest, error_of

TOY = ("train", "--model", "toy", "--max-steps", "1", "--output-dir", "out")
MATH = (*TOY, "--env", "math", "--env-option", "data=tasks.jsonl")
CODE = ("verify", "--env", "code", "--input", "in.jsonl", "--output", "out.jsonl")


def jsonl(path: Path, *records: object) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("--env", "arithmetik"), ["unknown environment 'arithmetik'", "did you mean 'arithmetic'?"]),
        (("--env-option", "levle=2"), ["'levle'", "did you mean 'level'?"]),
        (("--env-option", "level"), ["'level'", "key=value"]),
        (("--learning_rat", "1"), ["--learning-rat", "did you mean '--learning-rate'?"]),
        (("--learning-rate", "-1"), ["learning_rate", "-1"]),
        (("--model", "models/gone"), ["models/gone"]),
        (("--device", "cudda"), ["cudda"]),
    ],
)
def test_training_flags(acidtest: Acidtest, tmp_path: Path, args: tuple[str, ...], parts: list[str]) -> None:
    sentence = error_of(acidtest(*TOY, *args, env={"HF_HUB_OFFLINE": "1"}))
    assert all(part in sentence for part in parts), sentence
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('model = "toy"\nlerning_rate = 1e-4\n', ["config.toml", "'lerning_rate'", "did you mean 'learning_rate'?"]),
        ('model = "toy"\nlearning_rate = "fast"\n', ["config.toml", "learning_rate", "'fast'"]),
        ('model = "toy\n', ["config.toml", "not valid TOML"]),
        ("max_steps = 3\n", ["model", "missing"]),
        ('model = "toy"\nenv = "arithmetik"\n', ["did you mean 'arithmetic'?"]),
        ('model = "toy"\n[env_options]\nlevle = 2\n', ["did you mean 'level'?"]),
    ],
)
def test_configuration_file(acidtest: Acidtest, tmp_path: Path, text: str, parts: list[str]) -> None:
    (tmp_path / "config.toml").write_text(text)
    sentence = error_of(acidtest("train", "config.toml"))
    assert all(part in sentence for part in parts), sentence
    assert os.listdir(tmp_path) == ["config.toml"]


def test_absent_configuration_file(acidtest: Acidtest) -> None:
    assert "gone.toml" in error_of(acidtest("train", "gone.toml"))


def test_absent_data_set(acidtest: Acidtest) -> None:
    assert "tasks.jsonl" in error_of(acidtest(*MATH))


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_empty_data_set(acidtest: Acidtest, tmp_path: Path, content: str) -> None:
    (tmp_path / "tasks.jsonl").write_text(content)
    assert "tasks.jsonl" in error_of(acidtest(*MATH))
    assert os.listdir(tmp_path) == ["tasks.jsonl"]


def test_malformed_data_set_names_the_line(acidtest: Acidtest, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"id": "a", "prompt": "1 + 1?", "answer": "2"}\n{oops\n')
    sentence = error_of(acidtest(*MATH))
    assert "tasks.jsonl" in sentence
    assert "line 2" in sentence or ":2" in sentence


def test_training_task_without_a_gold_answer_is_named(acidtest: Acidtest, tmp_path: Path) -> None:
    good = [{"id": f"good-{n}", "prompt": f"{n} + 1?", "answer": str(n + 1)} for n in range(30)]
    jsonl(tmp_path / "tasks.jsonl", *good, {"id": "without", "prompt": "1 + 1?"})
    assert "without" in error_of(acidtest(*MATH))


@pytest.mark.parametrize("env", ["arithmetic", "countdown", "math", "code"])
def test_line_without_what_decides_is_named_and_the_rest_is_scored(
    acidtest: Acidtest, tmp_path: Path, env: str
) -> None:
    jsonl(tmp_path / "in.jsonl", {"id": "without", "prompt": "What is 1 + 1?", "completion": "2"})
    done = acidtest("verify", "--env", env, "--input", "in.jsonl", "--output", "out.jsonl")
    assert done.returncode == 2
    assert "acidtest: line 1: " in done.stderr
    assert "Traceback" not in done.stderr
    (row,) = [json.loads(text) for text in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert (row["id"], row["reward"], row["verdict"]) == ("without", None, "invalid")


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine without bubblewrap: nothing is on the path."""
    return {"PATH": str(tmp_path_factory.mktemp("bin"))}


def test_program_without_bubblewrap(acidtest: Acidtest, tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "program.py").write_text("print(1)")
    sentence = error_of(acidtest("run", "program.py", env=bare))
    assert "apt-get install bubblewrap" in sentence


def test_code_without_bubblewrap(acidtest: Acidtest, tmp_path: Path, bare: dict[str, str]) -> None:
    tests = {"kind": "stdio", "cases": [{"input": "", "output": "1"}]}
    lines = [{"id": str(n), "prompt": "p", "tests": tests, "completion": "```python\nprint(1)\n```"} for n in range(5)]
    jsonl(tmp_path / "in.jsonl", *lines)
    sentence = error_of(acidtest(*CODE, env=bare))
    assert "apt-get install bubblewrap" in sentence
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_training_on_code_without_bubblewrap(acidtest: Acidtest, tmp_path: Path, bare: dict[str, str]) -> None:
    done = acidtest(*TOY, "--env", "code", "--max-prompt-length", "4096", env=bare)
    assert done.returncode == 2
    (line,) = [text for text in done.stderr.splitlines() if text.startswith("acidtest: error: ")]
    assert "apt-get install bubblewrap" in line
    assert "Traceback" not in done.stderr


def test_doctor_without_bubblewrap_says_what_to_install(acidtest: Acidtest, bare: dict[str, str]) -> None:
    done = acidtest("doctor", env=bare)
    assert done.returncode == 1
    assert "not ready: an isolated Python program" in done.stdout
    assert "apt-get install bubblewrap" in done.stdout
    assert done.stderr == ""
