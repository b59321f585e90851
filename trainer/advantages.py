"""Group-relative advantages: how much better an answer is than its siblings.

Everything is computed in float64 and cast by the caller. An unavailable sample's reward is NaN: it takes no part
in any statistic and its advantage is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import torch

EPS = 1e-8
"""Added to the standard deviation (GRPO, DeepSeekMath, eq. 3)."""

ScaleRewards = Literal["group", "none"]


def group_advantages(rewards_G: torch.Tensor, scale_rewards: ScaleRewards = "group") -> torch.Tensor:
    """Advantages [G] of one group's rewards [G]; NaN marks an unavailable sample and gets 0.

    `group`: (r - mean) / (std + eps) with the population standard deviation (GRPO, DeepSeekMath section 4.1).
    `none`: r - mean (Dr. GRPO). Raises ValueError for an infinite reward.
    """
    available_G, rewards_G = _available(rewards_G)
    known = rewards_G[available_G]
    advantages_G = torch.zeros_like(rewards_G)
    if len(known) == 0:
        return advantages_G
    centred = known - known.mean()
    if scale_rewards == "group":
        centred = centred / (known.std(correction=0) + EPS)
    advantages_G[available_G] = centred
    return advantages_G


@dataclass
class RewardPrior:
    """A running mean and variance of an environment's rewards, the prior of `smooth_advantages`.

    Exponential moving averages over batches; the first batch sets them. decay: the weight that the past keeps.
    """

    decay: float = 0.9
    mean: float | None = None
    variance: float = 0.0

    def update(self, rewards: torch.Tensor) -> None:
        """Take in the rewards of one batch, of any shape; NaN marks unavailable ones."""
        known = rewards[~torch.isnan(rewards)].double()
        if len(known) == 0:
            return
        mean = float(known.mean())
        variance = float(known.var(correction=0))
        if self.mean is None:
            self.mean, self.variance = mean, variance
            return
        # The second moment is averaged, so that a drifting mean adds to the variance as it should.
        second = self.decay * (self.variance + self.mean**2) + (1 - self.decay) * (variance + mean**2)
        self.mean = self.decay * self.mean + (1 - self.decay) * mean
        self.variance = max(second - self.mean**2, 0.0)

    def state_dict(self) -> dict[str, float | None]:
        """What `load_state_dict` needs to go on."""
        return {"decay": self.decay, "mean": self.mean, "variance": self.variance}

    def load_state_dict(self, state: dict[str, float | None]) -> Self:
        """Continue from `state_dict`'s result."""
        self.decay = state["decay"] or 0.0
        self.mean = state["mean"]
        self.variance = state["variance"] or 0.0
        return self


def smooth_advantages(rewards_G: torch.Tensor, prior: RewardPrior, pseudo_count: float) -> torch.Tensor:
    """Advantages [G] whose mean and variance are shrunk toward `prior` with `pseudo_count` pseudo-observations.

    With kappa = pseudo_count and the prior (mu0, var0): mean' = (sum r + kappa mu0) / (G + kappa) and
    var' = (sum (r - mean')^2 + kappa (var0 + (mu0 - mean')^2)) / (G + kappa), then (r - mean') / (sqrt var' + eps).
    An all-correct group keeps a small positive advantage that fades as correct answers become the norm.
    Raises ValueError for an infinite reward or when the prior has seen nothing yet.
    """
    if prior.mean is None:
        raise ValueError("the prior has seen no rewards yet; update it with the batch first")
    available_G, rewards_G = _available(rewards_G)
    known = rewards_G[available_G]
    advantages_G = torch.zeros_like(rewards_G)
    if len(known) == 0:
        return advantages_G
    total = len(known) + pseudo_count
    mean = (known.sum() + pseudo_count * prior.mean) / total
    spread = ((known - mean) ** 2).sum() + pseudo_count * (prior.variance + (prior.mean - mean) ** 2)
    advantages_G[available_G] = (known - mean) / ((spread / total).sqrt() + EPS)
    return advantages_G


def _available(rewards_G: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rewards_G = rewards_G.double()
    if torch.isinf(rewards_G).any():
        raise ValueError(f"a reward is infinite: {rewards_G.tolist()}; a reward must be a finite number")
    return ~torch.isnan(rewards_G), rewards_G
