from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.envs import Task, UserError, Verifier, make
from acidtest.envs.expression import ExpressionError, evaluate

TASK = Task("t", "", None, {"numbers": [2, 3, 5, 5], "target": 25})
ALL = Task("t", "", None, {"numbers": [2, 3, 5], "target": 25, "use_all": True})


@pytest.mark.parametrize(
    ("task", "text", "verdict"),
    [
        (TASK, "<answer>5 * 5</answer>", "correct"),
        (TASK, "<answer>5 * 5 = 25</answer>", "correct"),
        (TASK, "<think>2+3</think><answer>(2 + 3) \u00d7 5</answer>", "correct"),
        (TASK, r"\boxed{5 \times 5}", "correct"),
        (TASK, r"\boxed{5 \cdot (2 + 3)}", "correct"),
        (TASK, "Let me see.\nThe expression: (5 + 5) * 5 / 2", "wrong_numbers"),
        (TASK, "<answer>25</answer>", "wrong_numbers"),
        (TASK, "<answer>5 + 5 + 2 * 3</answer>", "wrong"),
        (TASK, "<answer>5 ** 2</answer>", "malformed"),
        (TASK, "<answer>55 - 3 * 2</answer>", "wrong_numbers"),
        (TASK, "<answer>__import__('os')</answer>", "malformed"),
        (TASK, "<answer>5 / (3 - 3)</answer>", "wrong_numbers"),
        (TASK, "<answer>2 / (5 - 5)</answer>", "malformed"),
        (TASK, "<answer>" + "(" * 100_000 + "</answer>", "malformed"),
        (TASK, "<think><answer>5 * 5</answer>", "no_answer"),
        (TASK, "", "no_answer"),
        (ALL, "<answer>(2 + 3) * 5</answer>", "correct"),
        (ALL, "<answer>5 * 5</answer>", "wrong_numbers"),
        (ALL, "<answer>5 * (3 + 2) * 1</answer>", "wrong_numbers"),
        (ALL, "<answer>2 + 3</answer>", "wrong_numbers"),
    ],
)
async def test_verdicts(task: Task, text: str, verdict: str) -> None:
    async with Verifier(make("countdown")) as verifier:
        score = await verifier.score(task, text)
    assert score.verdict == verdict, score
    assert score.reward == float(verdict == "correct")


async def test_every_task_can_be_solved_and_the_prompt_does_not_say_how() -> None:
    env = make("countdown", size=300, test_size=50)
    train, test = env.tasks("train"), env.tasks("test")
    assert (len(train), len(test)) == (300, 50)
    assert not {task.id for task in train} & {task.id for task in test}
    async with Verifier(env) as verifier:
        for task in (*train, *test):
            assert task.info["solution"] not in str(task.prompt)
            assert (await verifier.score(task, f"<answer>{task.info['solution']}</answer>")).correct is True


@pytest.mark.parametrize(
    "record",
    [
        {"id": "a", "target": 3},
        {"id": "a", "numbers": [], "target": 3},
        {"id": "a", "numbers": "123", "target": 3},
        {"id": "a", "numbers": [1, 2.5], "target": 3},
        {"id": "a", "numbers": [1, 2], "target": "three"},
        {"id": "a", "numbers": [1, True], "target": 3},
    ],
)
def test_a_record_needs_numbers_and_a_target(record: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="'a'"):
        make("countdown").task_from_record(record, "1")


@pytest.mark.parametrize("options", [{"count": 1}, {"count": 7}, {"size": 0}, {"max_number": 5}, {"count": "4"}])
def test_options_out_of_range_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(options))):
        make("countdown", **options)


trees = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=8,
)


@given(trees)
def test_the_evaluator_agrees_with_fractions(text: str) -> None:
    wrapped = "".join(
        f"Fraction({part})" if part.isdigit() else part
        for part in text.replace("(", "( ").replace(")", " )").split(" ")
    )
    try:
        expected = eval(wrapped, {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="zero"):
            evaluate(text)
    else:
        assert evaluate(text) == expected


@pytest.mark.parametrize("text", ["1 +", "1 2", "(1", "1)", "*1", "", "1 // 2", "1e5", "0x10", "1.5", "1_0", "\u0661"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text)
