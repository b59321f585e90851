"""Lines of a jsonl file or of a pipe: read without holding up the scoring, and what a line holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

from acidtest.envs import UserError

AHEAD = 64
"""Lines that are read before they are asked for."""


class LineReader:
    """Reads lines in a thread of its own, since a pipe may keep silent for as long as it likes.

    The thread is a daemon: one that is blocked on a silent pipe does not hold up the end of the process. Reading
    never runs more than `AHEAD` lines ahead, so memory stays bounded. Must be created in a running event loop. The
    thread closes `source` at its end; to close it from outside would wait for a silent pipe too.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        threading.Thread(target=self._read, name="acidtest-lines", daemon=True).start()

    async def next(self) -> bytes | None:
        """The next line, or None at the end of the input. Raises OSError when reading fails."""
        line = await self._lines.get()
        self._room.release()
        if isinstance(line, OSError):
            raise line
        return line or None

    def _read(self) -> None:
        # The loop may be closed by the time that a silent pipe speaks: nobody is left to read on.
        with self._source, contextlib.suppress(RuntimeError):
            while True:
                self._room.acquire()
                try:
                    line: bytes | OSError = self._source.readline()
                except OSError as error:
                    line = error
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
                if not line or isinstance(line, OSError):
                    return


def read_record(line: bytes) -> dict[str, Any]:
    """The JSON object of one line. Raises UserError where it is none."""
    try:
        record = json.loads(line.decode("utf-8-sig").rstrip())
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text (byte {error.start + 1})") from error
    except json.JSONDecodeError as error:
        raise UserError(f"not valid JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise UserError(f"not usable JSON: {error}") from error
    if not isinstance(record, dict):
        raise UserError(f"{_kind(record)}; it must be an object with the fields of a task")
    return record


def read_completion(record: Mapping[str, Any], field: str) -> str:
    """The text that is scored. Raises UserError where it is missing or no text."""
    if field not in record:
        raise UserError(f"the field {field!r} is missing; it holds the text to score")
    completion = record[field]
    if not isinstance(completion, str):
        raise UserError(f"the field {field!r} is {_kind(completion)}; it must be text")
    return completion


def _kind(value: object) -> str:
    kinds = {list: "an array", dict: "an object", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
