"""The one interface that every isolation backend offers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from .outcome import Outcome
from .program import Limits, Program


class SandboxError(Exception):
    """No sandbox can be had as asked for; the message names what is missing and the remedy."""


class Sandbox(Protocol):
    """Runs untrusted programs. Open and close it with `async with`; the tasks of a loop may share it."""

    name: str

    async def run(self, program: Program, limits: Limits | None = None) -> Outcome:
        """Run one program; never raises for what the program does. Cancelling kills the run."""
        ...

    async def run_many(
        self,
        program: Program,
        stdins: Sequence[bytes],
        limits: Limits | None = None,
        *,
        stop_at_failure: bool = False,
    ) -> list[Outcome]:
        """Run one program once per stdin (compiled once), outcomes in order of `stdins`.

        With `stop_at_failure` the list ends at the first outcome, in order, that is not `ok`.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
