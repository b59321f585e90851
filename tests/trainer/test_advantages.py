from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acidtest.trainer.advantages import RewardPrior, group_advantages, smooth_advantages

NAN = math.nan
rewards = st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=16)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_group_divides_by_the_population_deviation() -> None:
    # Rewards 1, 0, 0, 0: mean 1/4, population variance 3/16.
    expected = tensor(0.75, -0.25, -0.25, -0.25) / (math.sqrt(3 / 16) + 1e-8)
    torch.testing.assert_close(group_advantages(tensor(1, 0, 0, 0)), expected, rtol=0, atol=1e-15)


def test_none_only_centres() -> None:
    torch.testing.assert_close(group_advantages(tensor(1, 0, 0, 0), "none"), tensor(0.75, -0.25, -0.25, -0.25))


def test_an_unavailable_sample_changes_nothing_for_the_others() -> None:
    with_hole = group_advantages(tensor(1, NAN, 0, 0, NAN))
    without = group_advantages(tensor(1, 0, 0))
    assert with_hole[[0, 2, 3]].tolist() == without.tolist()
    assert with_hole[[1, 4]].tolist() == [0, 0]


@pytest.mark.parametrize("scale", ["group", "none"])
def test_nothing_available_gives_zeros(scale: str) -> None:
    assert group_advantages(tensor(NAN, NAN), scale).tolist() == [0, 0]  # type: ignore[arg-type]


def test_float32_rewards_are_computed_in_float64() -> None:
    result = group_advantages(torch.tensor([0.1, 0.1, 0.1]), "none")
    assert result.dtype == torch.float64
    assert result.abs().max() < 1e-15


def test_an_infinite_reward_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        group_advantages(tensor(1, math.inf))


@given(rewards)
def test_group_advantages_have_mean_zero_and_deviation_at_most_one(values: list[float]) -> None:
    result = group_advantages(tensor(*values))
    assert abs(float(result.mean())) < 1e-4
    assert float(result.std(correction=0)) <= 1 + 1e-6


@given(rewards, st.floats(-5, 5, width=16))
def test_a_constant_added_to_all_rewards_changes_nothing(values: list[float], shift: float) -> None:
    plain, shifted = tensor(*values), tensor(*values) + shift
    torch.testing.assert_close(group_advantages(plain, "none"), group_advantages(shifted, "none"), rtol=0, atol=1e-12)


def test_smooth_is_the_formula_in_numbers() -> None:
    prior = RewardPrior(mean=0.5, variance=0.25)
    # Four ones and kappa 4: mean' 0.75, var' (4 * 0.0625 + 4 * (0.25 + 0.0625)) / 8 = 0.1875.
    expected = tensor(*[0.25 / (math.sqrt(0.1875) + 1e-8)] * 4)
    torch.testing.assert_close(smooth_advantages(tensor(1, 1, 1, 1), prior, 4.0), expected, rtol=0, atol=1e-15)


def test_smooth_leaves_unavailable_samples_out() -> None:
    prior = RewardPrior(mean=0.3, variance=0.2)
    with_hole = smooth_advantages(tensor(1, NAN, 1), prior, 2.0)
    assert with_hole[[0, 2]].tolist() == smooth_advantages(tensor(1, 1), prior, 2.0).tolist()
    assert with_hole[1] == 0


@pytest.mark.parametrize(("reward", "sign"), [(1.0, 1), (0.0, -1)])
def test_smooth_fades_as_the_outcome_becomes_the_norm(reward: float, sign: int) -> None:
    def first(mean: float) -> float:
        prior = RewardPrior(mean=mean, variance=mean * (1 - mean))
        return sign * float(smooth_advantages(tensor(*[reward] * 8), prior, 4.0)[0])

    rare, even, norm = (first(abs(1 - reward - share)) for share in (0.1, 0.5, 0.99))
    assert rare > even > norm > 0


def test_smooth_without_a_prior_is_refused() -> None:
    with pytest.raises(ValueError, match="prior"):
        smooth_advantages(tensor(1, 1), RewardPrior(), 4.0)


def test_the_prior_starts_at_the_first_batch_and_then_averages_moments() -> None:
    prior = RewardPrior(decay=0.9)
    prior.update(tensor(1, 0, 0, 0))
    assert (prior.mean, prior.variance) == (0.25, 0.1875)
    prior.update(tensor(1, 1, NAN))
    assert prior.mean == pytest.approx(0.9 * 0.25 + 0.1)
    # E[r^2] goes 0.25 -> 0.9 * 0.25 + 0.1 * 1.
    assert prior.variance == pytest.approx(0.325 - prior.mean**2)


def test_the_prior_ignores_a_batch_without_rewards() -> None:
    prior = RewardPrior()
    prior.update(tensor(NAN))
    assert prior.mean is None


def test_the_prior_survives_a_round_trip() -> None:
    prior = RewardPrior(decay=0.8)
    prior.update(tensor(1, 0, 1))
    assert RewardPrior().load_state_dict(prior.state_dict()) == prior
