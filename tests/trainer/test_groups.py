from __future__ import annotations

import math

import pytest
import torch

from acidtest.envs import Score, Task
from acidtest.trainer.advantages import RewardPrior, group_advantages
from acidtest.trainer.groups import Group, GroupPolicy, group_metrics
from acidtest.trainer.samplers import Sample


def graded(reward: float | None, accuracy: float | None = None) -> Score:
    """A score; without `accuracy` the rubric has no accuracy part."""
    parts = {} if accuracy is None else {"accuracy": accuracy}
    return Score(reward, parts, None if reward is None or accuracy is None else accuracy == 1)


def group(*scores: Score) -> Group:
    samples = [Sample(place, (5, 1), (-1.0, -1.0), "x", "stop", 0) for place in range(len(scores))]
    return Group(Task("t", "?"), samples, list(scores))


MIXED = group(graded(1, 1), graded(0, 0))
ALL_CORRECT = group(graded(1, 1), graded(1, 1))
ALL_WRONG = group(graded(0, 0), graded(0, 0))
SHAPED = group(graded(1.5, 1), graded(1.0, 1))
"""All correct, but a format part makes the rewards differ."""


@pytest.mark.parametrize(
    ("which", "degenerate"),
    [
        (MIXED, False),
        (ALL_CORRECT, True),
        (ALL_WRONG, True),
        (SHAPED, True),
        (group(graded(0.1 + 0.2), graded(0.3)), True),  # equal but for rounding
        (group(graded(0.3), graded(0.30001)), False),
        (group(graded(1, 1), graded(None)), True),
        (group(graded(None), graded(None)), True),
        (group(graded(1, 1), graded(None), graded(0, 0)), False),
    ],
)
def test_degenerate_means_equal_outcomes(which: Group, degenerate: bool) -> None:
    assert which.is_degenerate() is degenerate


def test_a_shaping_part_makes_a_signal_only_when_asked() -> None:
    assert SHAPED.is_degenerate("outcome")
    assert not SHAPED.is_degenerate("reward")
    prior = RewardPrior()
    assert GroupPolicy("skip").advantages([SHAPED], prior) == [None]
    (kept,) = GroupPolicy("skip", "reward").advantages([SHAPED], prior)
    assert kept is not None
    torch.testing.assert_close(kept, group_advantages(torch.tensor([1.5, 1.0])))


def test_skip_drops_degenerate_groups_and_only_those() -> None:
    dropped, kept, wrong = GroupPolicy("skip").advantages([ALL_CORRECT, MIXED, ALL_WRONG], RewardPrior())
    assert dropped is None
    assert wrong is None
    assert kept is not None
    assert kept.tolist() == pytest.approx([1, -1])


def test_smooth_gives_degenerate_groups_a_sign_and_leaves_the_others_alone() -> None:
    right, mixed, wrong = GroupPolicy("smooth").advantages([ALL_CORRECT, MIXED, ALL_WRONG], RewardPrior())
    assert right is not None
    assert wrong is not None
    assert mixed is not None
    assert (right > 0).all()
    assert (wrong < 0).all()
    assert mixed.tolist() == group_advantages(MIXED.rewards_G()).tolist()


def test_the_prior_sees_the_batch_before_it_is_used() -> None:
    prior = RewardPrior()
    GroupPolicy("smooth").advantages([ALL_CORRECT, ALL_WRONG], prior)
    assert (prior.mean, prior.variance) == (0.5, 0.25)


def test_keep_is_the_plain_formula() -> None:
    (kept,) = GroupPolicy("keep").advantages([SHAPED], RewardPrior())
    assert kept is not None
    assert kept.tolist() == group_advantages(SHAPED.rewards_G()).tolist()


@pytest.mark.parametrize("degenerate", ["skip", "smooth", "keep"])
def test_a_group_without_any_reward_leaves_the_batch(degenerate: str) -> None:
    policy = GroupPolicy(degenerate)  # type: ignore[arg-type]
    assert policy.advantages([group(graded(None), graded(None))], RewardPrior()) == [None]


def test_metrics_count_each_kind() -> None:
    unavailable = group(graded(None), graded(None))
    figures = group_metrics([MIXED, ALL_CORRECT, ALL_WRONG, unavailable], GroupPolicy())
    assert figures == {
        "groups/all_correct": 0.25,
        "groups/all_wrong": 0.25,
        "groups/degenerate_fraction": 0.75,
        "groups/signal_fraction": 0.25,
    }


def test_unavailable_rewards_are_nan() -> None:
    values = group(graded(None), graded(1, 1)).rewards_G().tolist()
    assert math.isnan(values[0])
    assert values[1] == 1
