"""What is run, and under which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LANGUAGES = ("python", "c", "cpp", "java", "javascript", "go", "rust", "bash")
"""The languages' names, the same everywhere in acidtest."""


@dataclass(frozen=True, slots=True)
class Program:
    """One untrusted program and what it is given.

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


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. Every field must be positive.

    cpu_s: CPU seconds of the whole process tree; decides `time_limit`.
    wall_s: wall-clock seconds, which only catch sleepers; None means five times cpu_s plus two seconds.
    memory_mb: MiB of memory. processes: processes and threads alive at once.
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
