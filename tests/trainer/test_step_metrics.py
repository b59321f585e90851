from __future__ import annotations

import json

import pytest
import torch

from acidtest.envs import Score, Task
from acidtest.trainer.groups import Group
from acidtest.trainer.samplers import Sample
from acidtest.trainer.step_metrics import completion_rows, rollout_metrics


def sample(index: int, length: int, ended: bool = True) -> Sample:
    reason = "stop" if ended else "length"
    return Sample(index, (5,) * length, (-1.0,) * length, f"text {index}", reason, 0)  # type: ignore[arg-type]


def right(**parts: float) -> Score:
    return Score(1.0, {"accuracy": 1.0, **parts}, True, "correct")


WRONG = Score(0.0, {"accuracy": 0.0}, False, "wrong", "it is not")
UNAVAILABLE = Score(None, {}, None, "unavailable", "the box broke")

GROUPS = [
    Group(Task("a", "?"), [sample(0, 2), sample(1, 4)], [right(), WRONG]),
    Group(Task("b", "?"), [sample(0, 6, ended=False), sample(1, 4)], [UNAVAILABLE, right()]),
]


def test_unavailable_scores_count_in_no_mean() -> None:
    figures = rollout_metrics(GROUPS)
    assert figures["unavailable"] == 1
    assert figures["reward"] == figures["accuracy"] == figures["rewards/accuracy/mean"] == pytest.approx(2 / 3)
    assert figures["reward_std"] == pytest.approx((0.5 + 0) / 2)
    assert figures["frac_reward_zero_std"] == 0.5


def test_lengths_tell_ended_from_clipped() -> None:
    figures = rollout_metrics(GROUPS)
    assert figures["completions/mean_length"] == 4
    assert figures["completions/clipped_ratio"] == 0.25
    assert figures["completions/mean_terminated_length"] == pytest.approx(10 / 3)


def test_a_step_without_any_reward_still_has_figures() -> None:
    figures = rollout_metrics([Group(Task("a", "?"), [sample(0, 2)], [UNAVAILABLE])])
    assert figures["reward"] == 0
    assert "accuracy" not in figures


def test_parts_are_averaged_over_the_scores_that_have_them() -> None:
    group = Group(Task("a", "?"), [sample(0, 1), sample(1, 1)], [right(format=0.5), right()])
    assert rollout_metrics([group])["rewards/format/mean"] == 0.5


def test_rows_say_everything_about_a_completion() -> None:
    prompt = [{"role": "user", "content": "?"}]
    advantages = [torch.tensor([1.0, -1.0], dtype=torch.float64), None]
    rows = [json.loads(json.dumps(row)) for row in completion_rows(3, GROUPS, [prompt, prompt], advantages)]
    assert [row["advantage"] for row in rows] == [1.0, -1.0, None, None]
    assert rows[1] == {
        "step": 3,
        "id": "a",
        "prompt": prompt,
        "completion": "text 1",
        "reward": 0.0,
        "correct": False,
        "verdict": "wrong",
        "parts": {"accuracy": 0.0},
        "detail": "it is not",
        "advantage": -1.0,
        "tokens": 4,
        "finish_reason": "stop",
    }
    assert rows[2]["reward"] is None
    assert rows[2]["finish_reason"] == "length"
