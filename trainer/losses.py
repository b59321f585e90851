"""The policy loss: pure functions of tensors, no I/O and no configuration object.

Axes: B completions, T completion tokens. One mask feeds numerator and denominator everywhere, and the
denominators belong to the whole optimizer step (`LossScale`), so that the gradient does not depend on how a
step is cut into micro-batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from .kl import k3

LossType = Literal["grpo", "dapo", "dr_grpo"]


@dataclass(frozen=True, slots=True)
class LossScale:
    """The denominators of one optimizer step, counted over all of its micro-batches.

    sequences: completions with at least one token that counts. tokens: tokens that count.
    max_completion_length: the constant length of `dr_grpo`.
    """

    sequences: int
    tokens: int
    max_completion_length: int

    def token_weights(self, mask_BT: torch.Tensor, loss_type: LossType) -> torch.Tensor:
        """The weight [B, T] of each token's loss; weights of a whole step add up to its aggregation.

        `grpo`: mean over a completion's tokens, then over completions (DeepSeekMath, eq. 3).
        `dapo`: mean over all tokens of the step (DAPO, eq. 8).
        `dr_grpo`: sum over tokens / max_completion_length, then mean over completions (Dr. GRPO).
        """
        mask_BT = mask_BT.double()
        if loss_type == "dapo":
            return mask_BT / max(self.tokens, 1)
        if loss_type == "dr_grpo":
            return mask_BT / (self.max_completion_length * max(self.sequences, 1))
        lengths_B1 = mask_BT.sum(dim=1, keepdim=True).clamp(min=1)
        return mask_BT / lengths_B1 / max(self.sequences, 1)


@dataclass(frozen=True, slots=True)
class LossInput:
    """One micro-batch. All tensors are [B, T] on one device; positions where mask is False count nowhere.

    logprobs: of the policy, with gradient. old_logprobs: of the policy when the step began.
    sampler_logprobs: as the sampler reported them. ref_logprobs: of the reference, None without a KL term.
    advantages: each completion's advantage, repeated over its tokens.
    """

    logprobs_BT: torch.Tensor
    old_logprobs_BT: torch.Tensor
    sampler_logprobs_BT: torch.Tensor
    ref_logprobs_BT: torch.Tensor | None
    advantages_BT: torch.Tensor
    mask_BT: torch.Tensor


def policy_loss(
    batch: LossInput,
    scale: LossScale,
    *,
    loss_type: LossType,
    epsilon: float,
    epsilon_high: float,
    beta: float,
    importance_cap: float | None,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """This micro-batch's share of the step's loss (a scalar with gradient), and its shares of the metrics.

    -min(w A, clip(w, 1 - epsilon, 1 + epsilon_high) A) + beta k3, with w = pi_theta / pi_old per token
    (DeepSeekMath, eq. 3), times min(pi_old / pi_sampler, importance_cap), the truncated correction for a
    sampler whose numbers differ from the trainer's; None switches it off. Shares add up over micro-batches;
    each metric is a mean over the step's tokens.
    """
    weights_BT = scale.token_weights(batch.mask_BT, loss_type).to(batch.logprobs_BT.dtype)
    # A masked position may hold anything, so it is replaced before exp: 0 x inf would be NaN, in the gradient too.
    log_ratio_BT = torch.where(batch.mask_BT, batch.logprobs_BT - batch.old_logprobs_BT, 0.0)
    ratio_BT = log_ratio_BT.exp()
    clipped_BT = ratio_BT.clamp(1 - epsilon, 1 + epsilon_high)
    loss_BT = -torch.minimum(ratio_BT * batch.advantages_BT, clipped_BT * batch.advantages_BT)
    mismatch_BT = torch.where(batch.mask_BT, batch.old_logprobs_BT - batch.sampler_logprobs_BT, 0.0)
    if importance_cap is not None:
        loss_BT = loss_BT * mismatch_BT.exp().clamp(max=importance_cap)
    kl_BT = torch.zeros_like(loss_BT)
    if batch.ref_logprobs_BT is not None:
        both = (batch.logprobs_BT, batch.ref_logprobs_BT)
        kl_BT = k3(*(torch.where(batch.mask_BT, logprobs_BT, 0.0) for logprobs_BT in both))
        loss_BT = loss_BT + beta * kl_BT
    loss = (torch.where(batch.mask_BT, loss_BT, 0.0) * weights_BT).sum()

    share_BT = batch.mask_BT.to(batch.logprobs_BT.dtype) / max(scale.tokens, 1)
    low_BT = (ratio_BT < 1 - epsilon) & (batch.advantages_BT < 0)
    high_BT = (ratio_BT > 1 + epsilon_high) & (batch.advantages_BT > 0)
    metrics = {
        "kl": kl_BT * share_BT,
        "clip_ratio/low_mean": low_BT * share_BT,
        "clip_ratio/high_mean": high_BT * share_BT,
        "clip_ratio/region_mean": (low_BT | high_BT) * share_BT,
        "sampling/sampling_logp_difference/mean": mismatch_BT.abs() * share_BT,
    }
    return loss, {name: value.detach().sum() for name, value in metrics.items()}
