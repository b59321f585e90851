"""Estimators of the KL divergence from the policy to the reference (Schulman, "Approximating KL divergence")."""

from __future__ import annotations

import torch


def k3(logprobs_BT: torch.Tensor, ref_logprobs_BT: torch.Tensor) -> torch.Tensor:
    """Per-token k3 = e^d - d - 1 with d = log pi_ref - log pi_theta, [B, T]; never negative (GRPO, eq. 4).

    Unbiased for KL(pi_theta || pi_ref) when the tokens were sampled from pi_theta.
    """
    d_BT = ref_logprobs_BT - logprobs_BT
    return torch.expm1(d_BT) - d_BT
