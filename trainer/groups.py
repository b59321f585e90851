"""Groups of completions of one prompt: which carry a signal, and what each completion's advantage is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from acidtest.envs import Score, Task

from .advantages import RewardPrior, ScaleRewards, group_advantages, smooth_advantages
from .samplers import Sample

Degenerate = Literal["skip", "smooth", "keep"]

OUTCOME_TOLERANCE = 1e-6
"""Outcomes closer than this are equal; comparing a standard deviation with 0 fails in floating point."""


@dataclass(slots=True)
class Group:
    """The G completions of one task with their scores, in the order of the sample index."""

    task: Task
    samples: list[Sample]
    scores: list[Score]

    def rewards_G(self) -> torch.Tensor:
        """Rewards [G], float64, NaN where unavailable."""
        return _tensor(score.reward for score in self.scores)

    def outcomes_G(self) -> torch.Tensor:
        """Outcomes [G], float64: the accuracy part where there is one, else the reward; NaN where unavailable."""
        return _tensor(
            None if score.reward is None else score.parts.get("accuracy", score.reward) for score in self.scores
        )

    def is_degenerate(self, degenerate_on: Literal["outcome", "reward"] = "outcome") -> bool:
        """Whether the available completions all have the same outcome, or fewer than two are available."""
        values_G = self.outcomes_G() if degenerate_on == "outcome" else self.rewards_G()
        known = values_G[~torch.isnan(values_G)]
        return len(known) < 2 or bool(known.max() - known.min() <= OUTCOME_TOLERANCE)


@dataclass(frozen=True, slots=True)
class GroupPolicy:
    """What becomes of groups: see `TrainConfig` for each field."""

    degenerate: Degenerate = "skip"
    degenerate_on: Literal["outcome", "reward"] = "outcome"
    scale_rewards: ScaleRewards = "group"
    smooth_pseudo_count: float = 4.0

    def advantages(self, groups: Sequence[Group], prior: RewardPrior) -> list[torch.Tensor | None]:
        """Advantages [G] of each group, or None for a group that leaves the batch entirely.

        `prior` takes in all rewards of `groups` first. Raises ValueError for an infinite reward.
        """
        if groups:
            prior.update(torch.cat([group.rewards_G() for group in groups]))
        return [self._one(group, prior) for group in groups]

    def _one(self, group: Group, prior: RewardPrior) -> torch.Tensor | None:
        rewards_G = group.rewards_G()
        if torch.isnan(rewards_G).all():
            return None
        if group.is_degenerate(self.degenerate_on):
            if self.degenerate == "skip":
                return None
            if self.degenerate == "smooth":
                return smooth_advantages(rewards_G, prior, self.smooth_pseudo_count)
        return group_advantages(rewards_G, self.scale_rewards)


def group_metrics(groups: Sequence[Group], policy: GroupPolicy) -> dict[str, float]:
    """The fractions of groups that are degenerate, all correct, all wrong, and that carry a signal."""
    degenerate = [group for group in groups if group.is_degenerate(policy.degenerate_on)]
    correct = [_all_correct(group) for group in degenerate]
    count = max(len(groups), 1)
    return {
        "groups/all_correct": correct.count(True) / count,
        "groups/all_wrong": correct.count(False) / count,
        "groups/degenerate_fraction": len(degenerate) / count,
        "groups/signal_fraction": 1 - len(degenerate) / count,
    }


def _all_correct(group: Group) -> bool | None:
    marks = {score.correct for score in group.scores if score.reward is not None}
    return marks.pop() if len(marks) == 1 else None


def _tensor(values: object) -> torch.Tensor:
    numbers = [math.nan if value is None else value for value in values]  # type: ignore[attr-defined]
    return torch.tensor(numbers, dtype=torch.float64)
