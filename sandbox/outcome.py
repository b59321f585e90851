"""What became of one run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a run ended. `UNAVAILABLE` alone is a fault of the box; all others are the program's doing."""

    OK = "ok"
    NONZERO_EXIT = "nonzero_exit"
    SIGNALLED = "signalled"
    COMPILE_ERROR = "compile_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_LIMIT = "process_limit"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run.

    exit_code is None when the program was killed, signal is None when it was not. stdout and stderr are the
    raw bytes up to the limit, `truncated` says that there was more. cpu_s covers the whole process tree,
    wall_s is from start to end, peak_memory_mb is 0 where it could not be measured. detail is one sentence
    for a person: the compiler's message, what was missing, which limit was hit.
    """

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory_mb: float = 0.0
    truncated: bool = False
    detail: str = ""
