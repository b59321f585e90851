"""Where scores go: into `FILE.partial` line by line, which becomes `FILE` when the last one is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from acidtest.envs import UserError


class ScoreFile:
    """A text file that appears complete or not at all; use it in a `with`.

    Lines go to `FILE.partial` at once, so that a job that dies loses nothing it has done; `finish` renames it. A
    name of `-` and what is no regular file (a pipe, /dev/null) are written in place. Raises UserError when the
    file cannot be made.
    """

    def __init__(self, name: str) -> None:
        self.lines = 0
        self.partial: Path | None = None
        if name == "-":
            self.shown = "standard output"
            self._file: TextIO = sys.stdout
            return
        self.shown = name
        # A link keeps pointing where it does: what it points to is replaced.
        self._target = Path(os.path.realpath(name))
        path = self._target
        if not path.exists() or path.is_file():
            path = self.partial = path.with_name(path.name + ".partial")
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write the output {name}: {error.strerror}") from error

    def write(self, line: str) -> None:
        """Write one line and hand it to the system at once."""
        self._file.write(line + "\n")
        self._file.flush()
        self.lines += 1

    def finish(self) -> None:
        """Everything is written: give the file its name."""
        self._file.flush()
        if self.partial is not None:
            os.fsync(self._file.fileno())
            self.partial.replace(self._target)
            self.partial = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not sys.stdout:
            self._file.close()
        if self.partial is not None and self.lines == 0:
            self.partial.unlink(missing_ok=True)
            self.partial = None
