"""Records from jsonl and parquet files and from hub data sets, and their held-out part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .task import Task


def load_records(source: str, split: str = "train") -> list[dict[str, Any]]:
    """All records of `source`: a `.jsonl` or `.parquet` file, or the name of a hub data set.

    Raises UserError, naming the file and the line, for a missing, empty or malformed source.
    """
    raise NotImplementedError


def held_out(tasks: Sequence[Task], split: str, test_fraction: float) -> list[Task]:
    """The part of `tasks` that belongs to `split` (`train` or `test`), by a hash of each task's id."""
    raise NotImplementedError
