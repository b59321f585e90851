"""Records from jsonl and parquet files and from hub data sets, and their held-out part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import UserError
from .task import Task

INSTALL = 'install it with `pip install "acidtest[data]"`'


def load_records(source: str, split: str = "train") -> list[dict[str, Any]]:
    """All records of `source`: a `.jsonl` or `.parquet` file, or the name of a hub data set.

    split: which part of a hub data set; files have no parts. A hub name may carry a configuration after a colon,
    as `openai/gsm8k:main`. Raises UserError, naming the file and the line, for a missing, empty or malformed source.
    """
    path = Path(source)
    if path.suffix == ".jsonl":
        records = _read_jsonl(_existing(path))
    elif path.suffix == ".parquet":
        records = _read_parquet(_existing(path))
    elif path.exists() or source.startswith((".", "/", "~")) or path.suffix in {".json", ".csv", ".tsv", ".txt"}:
        raise UserError(f"the data {source} is neither a .jsonl nor a .parquet file; convert it to one of them")
    else:
        records = _read_hub(source, split)
    if not records:
        raise UserError(f"the data {source} has no records; give it at least one")
    return records


def held_out(tasks: Sequence[Task], split: str, test_fraction: float) -> list[Task]:
    """The part of `tasks` that belongs to `split`: `train`, `test` (held out), or `all`.

    A hash of the id decides, so a task keeps its side when others come and go. Raises UserError for another
    split name, a fraction outside (0, 1), two tasks with one id, or a side without any task.
    """
    if not 0 < test_fraction < 1:
        raise UserError(f"test_fraction is {test_fraction}; it must lie between 0 and 1")
    _check_unique(tasks)
    if split == "all":
        return list(tasks)
    if split not in {"train", "test"}:
        raise UserError(f"there is no split {split!r}; take 'train', 'test' or 'all'")
    chosen = [task for task in tasks if (_share(task.id) < test_fraction) == (split == "test")]
    if not chosen:
        raise UserError(
            f"of {len(tasks)} tasks none falls into the split {split!r} at test_fraction {test_fraction}; "
            "give more tasks or change test_fraction"
        )
    return chosen


def _share(key: str) -> float:
    return int.from_bytes(hashlib.sha256(f"held out:{key}".encode()).digest()[:8], "big") / 2**64


def _check_unique(tasks: Sequence[Task]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UserError(f"two tasks have the id {task.id!r}; ids must differ")
        seen.add(task.id)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"there is no data file {path}; check the path")
    return path


def _read_jsonl(path: Path) -> list[dict[str, Any]]:
    records = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise UserError(f"{path}, line {number} is not valid JSON: {error}") from error
            if not isinstance(record, dict):
                raise UserError(f"{path}, line {number} is {type(record).__name__}; each line must be a JSON object")
            records.append(record)
    return records


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise UserError(f"reading {path} needs pyarrow; {INSTALL}") from error
    try:
        records: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowInvalid as error:
        raise UserError(f"{path} is not a valid parquet file: {' '.join(str(error).split())}") from error
    return records


def _read_hub(name: str, split: str) -> list[dict[str, Any]]:
    try:
        import datasets  # noqa: PLC0415
    except ImportError as error:
        raise UserError(f"the data {name!r} is no file, and a hub data set needs `datasets`; {INSTALL}") from error
    dataset, _, configuration = name.partition(":")
    try:
        loaded = datasets.load_dataset(dataset, configuration or None, split=split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"the data {name!r} is no file, and as a hub data set it cannot be loaded: {reason}") from error
    return [dict(record) for record in loaded]
