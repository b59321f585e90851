from __future__ import annotations

import pytest

from acidtest.envs import Task, UserError, Verifier, make
from acidtest.envs.r1 import choose_rubric, format_reward, language_consistency, r1_rubric

TASK = Task("t", "?", "5")
GOOD = "<think>two and three</think> <answer>5</answer>"


def right(task: Task, text: str) -> bool:
    return "5" in text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (GOOD, 1),
        (f"\n{GOOD}\n", 1),
        ("<think>a</think><answer>5</answer> more", 0),
        ("a<think>a</think><answer>5</answer>", 0),
        ("<think>a</think>b<answer>5</answer>", 0),
        ("<think></think><answer>5</answer>", 0),
        ("<think>a</think><answer> </answer>", 0),
        ("<think>a<think>b</think><answer>5</answer>", 0),
        ("<think>a</think><answer>5</answer><answer>6</answer>", 0),
        ("<answer>5</answer><think>a</think>", 0),
        ("5", 0),
    ],
)
def test_format(text: str, value: float) -> None:
    assert format_reward(TASK, text) == value


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("plain English", "en", 1.0),
        ("\u7b54\u6848", "en", 0.0),
        ("\u7b54\u6848", "zh", 1.0),
        ("ab\u7b54\u6848", "zh", 0.5),
        ("\u7b54\u6848 $x + y$ \\frac ```python\nprint\n```", "zh", 1.0),
        ("caf\u00e9", "en", 1.0),
        ("12 + 5 = 17", "zh", 1.0),
        ("\u043f\u0440\u0438abcd\u0432", "en", 0.5),
        (GOOD, "zh", 0.0),
    ],
)
def test_language_consistency_is_the_share_of_letters(text: str, language: str, share: float) -> None:
    assert language_consistency(text, language) == pytest.approx(share)  # type: ignore[arg-type]


async def test_the_rubric_adds_its_parts_up() -> None:
    score = await r1_rubric(right).score(TASK, GOOD)
    assert score.parts == {"accuracy": 1.0, "format": 1.0, "language": 1.0}
    assert score.reward == pytest.approx(1.6)
    wrong = await r1_rubric(right).score(TASK, GOOD.replace("5", "6"))
    assert (wrong.correct, wrong.reward) == (False, pytest.approx(0.6))
    other = await r1_rubric(right, language="zh", weights={"format": 2.0}).score(TASK, GOOD)
    assert other.reward == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["arithmetic", "countdown", "math", "code"])
async def test_every_environment_takes_the_option(name: str) -> None:
    env = make(name, rubric="r1", weights={"language": 0.0})
    async with Verifier(env) as verifier:
        score = await verifier.score(env.tasks("train")[0], "<think>hm</think><answer>0.123</answer>")
    assert set(score.parts) == {"accuracy", "format", "language"}
    assert score.reward == 0.5


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="'r1'"):
        choose_rubric(right, "r2")
    with pytest.raises(UserError, match="fr"):
        choose_rubric(right, "r1", language="fr")
    with pytest.raises(UserError, match="formt"):
        choose_rubric(right, "r1", {"formt": 1.0})
