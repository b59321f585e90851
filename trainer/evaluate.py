"""Held-out accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acidtest.envs import Task, Verifier

from .groups import Group
from .models import Policy
from .rollout import sample_groups
from .samplers import Sampler, SamplingParams


@dataclass(frozen=True, slots=True)
class Evaluation:
    """accuracy: the share of correct answers among the available ones. unavailable: how many were not."""

    accuracy: float
    reward: float
    tasks: int
    unavailable: int
    groups: list[Group]

    def metrics(self) -> dict[str, float]:
        """The figures under the names that metrics.jsonl uses."""
        figures = {"accuracy": self.accuracy, "reward": self.reward, "unavailable": float(self.unavailable)}
        return {f"eval/{name}": value for name, value in figures.items()}


async def evaluate(
    tasks: Sequence[Task],
    *,
    policy: Policy,
    sampler: Sampler,
    verifier: Verifier,
    max_prompt_length: int,
    max_completion_length: int,
    stopping: Callable[[], bool] = lambda: False,
) -> Evaluation:
    """Answer each task once, greedily, and score it.

    An environment without an accuracy part counts an answer as correct when its reward is at least 1.
    """
    groups = await sample_groups(
        tasks,
        num_generations=1,
        params=SamplingParams(max_tokens=max_completion_length, temperature=0.0),
        seed_parts=("evaluation",),
        policy=policy,
        sampler=sampler,
        verifier=verifier,
        max_prompt_length=max_prompt_length,
        stopping=stopping,
    )
    scores = [group.scores[0] for group in groups]
    known = [(score.reward, score.correct) for score in scores if score.reward is not None]
    count = max(len(known), 1)
    correct = sum(reward >= 1 if mark is None else mark for reward, mark in known)
    return Evaluation(
        correct / count, sum(reward for reward, _ in known) / count, len(tasks), len(scores) - len(known), groups
    )
