"""The loss against a token-by-token transcription of the papers' formulas in plain Python."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch

from acidtest.trainer.losses import LossInput, LossScale, LossType, policy_loss

B, T, LONGEST = 5, 6, 10
LOSS_TYPES: list[LossType] = ["grpo", "dapo", "dr_grpo"]


def example(seed: int = 0) -> LossInput:
    """Log-probs far enough apart that some tokens are clipped on either side; lengths 6, 3, 1, 5 and 0."""
    random = torch.Generator().manual_seed(seed)

    def logprobs() -> torch.Tensor:
        return -2 + 0.4 * torch.randn(B, T, generator=random, dtype=torch.float64)

    lengths_B = torch.tensor([6, 3, 1, 5, 0])
    mask_BT = torch.arange(T)[None] < lengths_B[:, None]
    advantages_BT = torch.tensor([1.5, -0.5, 0.2, -1.2, 3.0], dtype=torch.float64)[:, None].expand(B, T)
    return LossInput(logprobs().requires_grad_(), logprobs(), logprobs(), logprobs(), advantages_BT, mask_BT)


def scale_of(batch: LossInput) -> LossScale:
    lengths_B = batch.mask_BT.sum(dim=1)
    return LossScale(int((lengths_B > 0).sum()), int(lengths_B.sum()), LONGEST)


def plain_loss(batch: LossInput, loss_type: str, *, low: float, high: float, beta: float, cap: float | None) -> float:
    """The same loss written out one token at a time."""
    per_completion = []
    for row in range(B):
        terms = []
        for t in range(T):
            if not batch.mask_BT[row, t]:
                continue
            new, old, sampler = (
                float(x[row, t].detach()) for x in (batch.logprobs_BT, batch.old_logprobs_BT, batch.sampler_logprobs_BT)
            )
            advantage = float(batch.advantages_BT[row, t])
            ratio = math.exp(new - old)
            term = -min(ratio * advantage, min(max(ratio, 1 - low), 1 + high) * advantage)
            if cap is not None:
                term *= min(math.exp(old - sampler), cap)
            if batch.ref_logprobs_BT is not None:
                d = float(batch.ref_logprobs_BT[row, t].detach()) - new
                term += beta * (math.exp(d) - d - 1)
            terms.append(term)
        if terms:
            per_completion.append(terms)
    count = len(per_completion)
    if loss_type == "grpo":
        return sum(sum(terms) / len(terms) for terms in per_completion) / count
    if loss_type == "dapo":
        return sum(map(sum, per_completion)) / sum(map(len, per_completion))
    return sum(map(sum, per_completion)) / (count * LONGEST)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@pytest.mark.parametrize(("beta", "cap"), [(0.0, None), (0.0, 2.0), (0.04, 1.1), (0.5, None)])
def test_the_loss_is_the_formula(loss_type: LossType, beta: float, cap: float | None) -> None:
    batch = example()
    loss, _ = policy_loss(
        batch, scale_of(batch), loss_type=loss_type, epsilon=0.2, epsilon_high=0.28, beta=beta, importance_cap=cap
    )
    assert loss.item() == pytest.approx(plain_loss(batch, loss_type, low=0.2, high=0.28, beta=beta, cap=cap), abs=1e-12)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_the_gradient_is_that_of_the_formula(loss_type: LossType) -> None:
    batch = example(1)
    settings: dict[str, Any] = {"loss_type": loss_type, "epsilon": 0.2, "epsilon_high": 0.2, "beta": 0.1}
    loss, _ = policy_loss(batch, scale_of(batch), importance_cap=2.0, **settings)
    (gradient_BT,) = torch.autograd.grad(loss, batch.logprobs_BT)
    step = 1e-6
    for row, t in [(0, 0), (0, 5), (1, 2), (2, 0), (3, 4), (1, 4), (4, 0)]:
        with torch.no_grad():
            values = []
            for sign in (1, -1):
                batch.logprobs_BT[row, t] += sign * step
                values.append(plain_loss(batch, loss_type, low=0.2, high=0.2, beta=0.1, cap=2.0))
                batch.logprobs_BT[row, t] -= sign * step
        assert float(gradient_BT[row, t]) == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_shares_of_micro_batches_add_up_to_the_whole(loss_type: LossType) -> None:
    batch = example()
    scale = scale_of(batch)
    settings: dict[str, Any] = {"loss_type": loss_type, "epsilon": 0.2, "epsilon_high": 0.2, "beta": 0.1}
    whole, whole_metrics = policy_loss(batch, scale, importance_cap=2.0, **settings)
    total, totals = torch.zeros((), dtype=torch.float64), dict.fromkeys(whole_metrics, 0.0)
    for rows in (slice(0, 1), slice(1, 3), slice(3, 5)):
        part = LossInput(*(getattr(batch, field.name)[rows] for field in dataclasses.fields(LossInput)))
        loss, metrics = policy_loss(part, scale, importance_cap=2.0, **settings)
        total = total + loss
        totals = {name: totals[name] + float(value) for name, value in metrics.items()}
    assert total.item() == pytest.approx(whole.item(), abs=1e-13)
    assert totals == pytest.approx({name: float(value) for name, value in whole_metrics.items()}, abs=1e-13)


def test_what_is_masked_counts_nowhere_not_even_when_it_is_not_a_number() -> None:
    batch, poisoned = example(), example()
    for name in ("logprobs_BT", "old_logprobs_BT", "sampler_logprobs_BT", "ref_logprobs_BT"):
        with torch.no_grad():
            getattr(poisoned, name)[~poisoned.mask_BT] = math.nan
    settings: dict[str, Any] = {"loss_type": "grpo", "epsilon": 0.2, "epsilon_high": 0.2, "beta": 0.1}
    clean, clean_metrics = policy_loss(batch, scale_of(batch), importance_cap=2.0, **settings)
    loss, metrics = policy_loss(poisoned, scale_of(poisoned), importance_cap=2.0, **settings)
    assert loss.item() == clean.item()
    assert {name: float(value) for name, value in metrics.items()} == {
        name: float(value) for name, value in clean_metrics.items()
    }
    (gradient_BT,) = torch.autograd.grad(loss, poisoned.logprobs_BT)
    assert not gradient_BT.isnan().any()
    assert (gradient_BT[~poisoned.mask_BT] == 0).all()


def test_clip_metrics_count_the_tokens_that_the_clip_holds_back() -> None:
    ones = torch.ones(1, 4, dtype=torch.bool)
    logprobs_BT = torch.log(torch.tensor([[1.5, 1.5, 0.5, 0.5]]))
    advantages_BT = torch.tensor([[1.0, -1.0, 1.0, -1.0]])
    zero = torch.zeros(1, 4)
    batch = LossInput(logprobs_BT, zero, zero, None, advantages_BT, ones)
    _, metrics = policy_loss(
        batch,
        LossScale(1, 4, 4),
        loss_type="grpo",
        epsilon=0.2,
        epsilon_high=0.2,
        beta=0.0,
        importance_cap=None,
    )
    assert float(metrics["clip_ratio/high_mean"]) == 0.25
    assert float(metrics["clip_ratio/low_mean"]) == 0.25
    assert float(metrics["clip_ratio/region_mean"]) == 0.5
