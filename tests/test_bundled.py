"""The bundled sets through `acidtest verify`: every reference answer earns 1, every wrong one no accuracy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .command_line import Acidtest

ENVS = Path(__file__).parent.parent / "envs"
LEAST = {"math": 60, "code": 30}


def records(env: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ENVS / env / "problems.jsonl").read_text().splitlines()]


def scores(acidtest: Acidtest, folder: Path, *args: str) -> list[dict[str, Any]]:
    done = acidtest("verify", "--output", "out.jsonl", *args)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("env", LEAST)
def test_every_reference_answer_earns_one(acidtest: Acidtest, tmp_path: Path, env: str) -> None:
    tasks = records(env)
    assert len(tasks) >= LEAST[env]
    file = str(ENVS / env / "problems.jsonl")
    rows = scores(acidtest, tmp_path, "--env", env, "--input", file, "--completion-field", "reference")
    assert [row["id"] for row in rows] == [task["id"] for task in tasks]
    assert [row["id"] for row in rows if (row["reward"], row["correct"]) != (1.0, True)] == []


@pytest.mark.parametrize("env", LEAST)
def test_every_wrong_answer_earns_no_accuracy(acidtest: Acidtest, tmp_path: Path, env: str) -> None:
    lines = [
        {**task, "id": f"{task['id']}/{number}", "completion": wrong}
        for task in records(env)
        for number, wrong in enumerate(task["wrong"])
    ]
    assert len(lines) >= 2 * LEAST[env]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = scores(acidtest, tmp_path, "--env", env, "--input", "in.jsonl")
    assert [row["id"] for row in rows] == [line["id"] for line in lines]
    assert [row["id"] for row in rows if row["correct"] is not False or row["parts"]["accuracy"] != 0.0] == []
