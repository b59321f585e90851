"""The one way to a reward: bounded, order-preserving, and never a zero for a fault of ours."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .environment import Environment
from .task import Message, Score, Task, Transcript
from .workers import available_cpus

if TYPE_CHECKING:
    from acidtest.sandbox import Sandbox

MAX_ATTEMPTS = 3
"""How often a score that comes back unavailable is tried in all."""


class Verifier:
    """Scores completions of one environment. Open and close it with `async with`.

    workers: scores computed at once; None means one more than the CPUs, so that a core never waits.
    sandbox: what runs untrusted programs where the environment needs one.
    verdicts: how often each verdict was given so far.
    """

    def __init__(self, env: Environment, *, workers: int | None = None, sandbox: Sandbox | str = "auto") -> None:
        self.env = env
        self.workers = workers or available_cpus() + 1
        self.sandbox = sandbox
        self.verdicts: Counter[str] = Counter()
        self._free = asyncio.Semaphore(self.workers)

    async def __aenter__(self) -> Self:
        await self.env.open(sandbox=self.sandbox, workers=self.workers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.env.close()

    async def score(self, task: Task, completion: str | Transcript) -> Score:
        """Score one completion: its text, or a whole transcript where there were several turns."""
        transcript = self._transcript(task, completion)
        async with self._free:
            score = await self.env.score(task, transcript)
            for _ in range(MAX_ATTEMPTS - 1):
                if score.reward is not None:
                    break
                score = await self.env.score(task, transcript)
        self.verdicts[score.verdict] += 1
        return score

    async def score_many(self, items: Iterable[tuple[Task, str | Transcript]]) -> list[Score]:
        """Score many completions, side by side; the scores come in the order of `items`.

        When one cannot be scored at all, the others are cancelled and its error is raised.
        """
        running = [asyncio.create_task(self.score(task, completion)) for task, completion in items]
        try:
            return await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _transcript(self, task: Task, completion: str | Transcript) -> Transcript:
        if not isinstance(completion, str):
            return completion
        reply: Message = {"role": "assistant", "content": completion}
        return [*self.env.prompt(task), reply]
