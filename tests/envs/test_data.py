from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from acidtest.envs import Task, UserError
from acidtest.envs.data import held_out, load_records

TASKS = [Task(f"t{number}", "?") for number in range(200)]


def test_jsonl_and_parquet_give_the_same_records(tmp_path: Path) -> None:
    records = [{"id": "a", "prompt": "1\u00bd"}, {"id": "b", "prompt": "2"}]
    (tmp_path / "x.jsonl").write_text(
        '{"id": "a", "prompt": "1\u00bd"}\n\n{"id": "b", "prompt": "2"}', encoding="utf-8"
    )
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "x.parquet")
    assert load_records(str(tmp_path / "x.jsonl")) == load_records(str(tmp_path / "x.parquet")) == records


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"id": 1}\n{"id": \n', "line 2"),
        (b'{"id": 1}\n[1]\n', "line 2 is list"),
        (b'{"id": "\xff"}\n', "line 1"),
        (b"", "no records"),
        (b"\n\n", "no records"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says) as caught:
        load_records(str(path))
    assert str(path) in str(caught.value)


def test_sources_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    (tmp_path / "data.csv").write_text("a,b")
    for name in ("missing.jsonl", "missing.parquet", "bad.parquet", "data.csv"):
        with pytest.raises(UserError, match=name):
            load_records(str(tmp_path / name))


def test_the_splits_are_disjoint_complete_and_stable() -> None:
    train, test = held_out(TASKS, "train", 0.2), held_out(TASKS, "test", 0.2)
    assert sorted(task.id for task in (*train, *test)) == sorted(task.id for task in TASKS)
    assert 20 < len(test) < 60
    assert held_out(TASKS, "all", 0.2) == TASKS
    fewer = held_out(TASKS[:100], "test", 0.2)
    assert fewer == [task for task in test if task in TASKS[:100]]


@pytest.mark.parametrize(
    ("tasks", "split", "fraction", "says"),
    [
        (TASKS, "dev", 0.2, "'dev'"),
        (TASKS, "test", 0.0, "test_fraction"),
        (TASKS, "test", 1.0, "test_fraction"),
        ([TASKS[0], TASKS[0]], "train", 0.2, "two tasks"),
        (TASKS[:1], "test", 1e-9, "more tasks"),
    ],
)
def test_a_split_that_cannot_be_made_is_refused(tasks: list[Task], split: str, fraction: float, says: str) -> None:
    with pytest.raises(UserError, match=says):
        held_out(tasks, split, fraction)
