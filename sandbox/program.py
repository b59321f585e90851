"""What is run, and under which limits."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath

LANGUAGES = ("python", "c", "cpp", "java", "javascript", "go", "rust", "bash")
"""The languages' names, the same everywhere in acidtest."""


@dataclass(frozen=True, slots=True)
class Program:
    """One untrusted program and what it is given. Raises ValueError for what cannot be one.

    language: one of `LANGUAGES`.
    source: the text of the program.
    files: further files laid beside it before it starts, by relative path.
    args: command-line arguments (`sys.argv[1:]`).
    stdin: bytes that the program reads from its standard input.
    entry: file name of the source inside the box; None takes the language's usual one (`main.py`).
    """

    language: str
    source: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    stdin: bytes = b""
    entry: str | None = None

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            near = difflib.get_close_matches(self.language, LANGUAGES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(LANGUAGES)}"
            raise ValueError(f"unknown language {self.language!r}; {hint}")
        for name in (*self.files, *([] if self.entry is None else [self.entry])):
            _check_relative(name)
        for text in self.args:
            if "\0" in text:
                raise ValueError(f"the argument {text!r} holds a NUL character, which no program can be given")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. Every field must be positive; raises ValueError where one is not.

    cpu_s: CPU seconds of the whole process tree; decides `time_limit`.
    wall_s: wall-clock seconds, which only catch sleepers; None means five times cpu_s plus two seconds.
    memory_mb: MiB of memory of the whole process tree, files in its /tmp included.
    processes: processes and threads alive at once.
    output_kb: KiB kept of stdout and of stderr each. file_mb: MiB that the program may write to its disk.
    stack_mb: MiB of stack.
    """

    cpu_s: float = 10.0
    wall_s: float | None = None
    memory_mb: int = 512
    processes: int = 64
    output_kb: int = 1024
    file_mb: int = 64
    stack_mb: int = 64

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None and item.name == "wall_s":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise ValueError(f"the limit {item.name} is {value!r}; it must be a positive number")

    @property
    def wall_limit_s(self) -> float:
        """Wall-clock seconds after which the run is ended."""
        return 5 * self.cpu_s + 2 if self.wall_s is None else self.wall_s


def _check_relative(name: str) -> None:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"the file name {name!r} does not stay in the program's folder; give a relative path")
