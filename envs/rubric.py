"""Weighted, named parts that add up to a reward."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from .errors import UserError
from .task import Score, Task


@dataclass(frozen=True, slots=True)
class PartScore:
    """What a part function may return when a bare number says too little.

    value: the part's unweighted value, None for *unavailable*. verdict, detail: as in `Score`.
    """

    value: float | None
    verdict: str = ""
    detail: str = ""


PartResult = float | bool | None | PartScore
PartFunction = Callable[[Task, str], PartResult | Awaitable[PartResult]]
"""`fn(task, completion)` -> a number, True/False, None (unavailable) or a `PartScore`; may be `async def`."""


class Rubric:
    """A reward as a weighted sum: `Rubric({"accuracy": (fn, 1.0), "format": (fn, 0.5)})`.

    The part named `accuracy` alone decides `Score.correct` and gives the verdict. If any part is
    unavailable, so is the whole score. A part that raises crashes: a broken checker is no wrong answer.
    """

    def __init__(self, parts: Mapping[str, tuple[PartFunction, float]]) -> None:
        if not parts:
            raise UserError("a rubric has no parts; give at least one, as {'accuracy': (function, 1.0)}")
        for name, (_, weight) in parts.items():
            if not math.isfinite(weight):
                raise UserError(f"the weight of rubric part {name!r} is {weight}; it must be a finite number")
        self.parts = dict(parts)

    def with_weights(self, weights: Mapping[str, float]) -> Rubric:
        """The same parts with other weights; a part that is not named keeps its own."""
        unknown = sorted(set(weights) - set(self.parts))
        if unknown:
            raise UserError(f"no rubric part is named {unknown[0]!r}; the parts are {', '.join(self.parts)}")
        return Rubric({name: (fn, weights.get(name, old)) for name, (fn, old) in self.parts.items()})

    async def score(self, task: Task, completion: str) -> Score:
        """Evaluate all parts, side by side where they are asynchronous."""
        results = await asyncio.gather(*(_evaluate(fn, task, completion) for fn, _ in self.parts.values()))
        by_name = dict(zip(self.parts, results, strict=True))
        for name, result in by_name.items():
            if result.value is None:
                return Score(
                    None, verdict=result.verdict or "unavailable", detail=f"{name}: {result.detail or 'unavailable'}"
                )
            if not math.isfinite(result.value):
                raise ValueError(f"rubric part {name!r} gave {result.value} for task {task.id!r}")
        values = {name: float(result.value or 0.0) for name, result in by_name.items()}
        reward = sum(weight * values[name] for name, (_, weight) in self.parts.items())
        accuracy = by_name.get("accuracy")
        if accuracy is None:
            return Score(reward, values, verdict="scored")
        correct = values["accuracy"] >= 1.0
        verdict = accuracy.verdict or ("correct" if correct else "wrong")
        return Score(reward, values, correct, verdict, accuracy.detail)


async def _evaluate(fn: PartFunction, task: Task, completion: str) -> PartScore:
    result = fn(task, completion)
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, PartScore):
        return result
    return PartScore(None if result is None else float(result))
