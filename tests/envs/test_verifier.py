"""The verifier with the rubric, the environment and the registry under it."""

from __future__ import annotations

import asyncio
import math

import pytest

from acidtest.envs import (
    Environment,
    PartScore,
    Rubric,
    Score,
    Task,
    UserError,
    Verifier,
    list_environments,
    make,
    register,
)
from acidtest.envs.task import Transcript

TASK = Task("t", "?", "5")


async def test_scores_come_in_order_and_never_more_at_once_than_workers() -> None:
    running = most = 0

    async def slow(task: Task, text: str) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20 - int(text)):
            await asyncio.sleep(0)
        running -= 1
        return int(text) / 20

    async with Verifier(Environment([TASK], Rubric({"accuracy": (slow, 1.0)})), workers=3) as verifier:
        scores = await verifier.score_many([(TASK, str(number)) for number in range(20)])
    assert [score.reward for score in scores] == [number / 20 for number in range(20)]
    assert most == 3


async def test_a_fault_is_tried_again_and_then_unavailable_but_never_0() -> None:
    calls = {"recovers": 0, "broken": 0}

    def flaky(task: Task, text: str) -> float | None:
        calls[text] += 1
        return 1.0 if text == "recovers" and calls[text] == 2 else None

    async with Verifier(Environment([TASK], Rubric({"accuracy": (flaky, 1.0)}))) as verifier:
        good, bad = await verifier.score_many([(TASK, "recovers"), (TASK, "broken")])
    assert (good.reward, bad.reward, bad.correct, bad.verdict) == (1.0, None, None, "unavailable")
    assert calls == {"recovers": 2, "broken": 3}
    assert verifier.verdicts == {"correct": 1, "unavailable": 1}


async def test_a_checker_that_raises_is_no_wrong_answer_and_cancels_the_rest() -> None:
    async def checker(task: Task, text: str) -> float:
        if text == "bad":
            raise KeyError("broken checker")
        await asyncio.sleep(3600)
        return 1.0

    async with Verifier(Environment([TASK], Rubric({"accuracy": (checker, 1.0)}))) as verifier:
        with pytest.raises(KeyError, match="broken checker"):
            await verifier.score_many([(TASK, "good"), (TASK, "bad")])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_rubric_weighs_parts_and_takes_correct_from_accuracy_alone() -> None:
    rubric = Rubric(
        {
            "accuracy": (lambda task, text: PartScore(0.5, "half", "so so"), 2.0),
            "style": (lambda task, text: True, 0.25),
        }
    )
    score = await rubric.score(TASK, "")
    assert score == Score(1.25, {"accuracy": 0.5, "style": 1.0}, False, "half", "so so")
    assert (await rubric.with_weights({"style": -1.0}).score(TASK, "")).reward == 0.0
    assert (await Rubric({"style": (lambda task, text: 1, 1.0)}).score(TASK, "")).correct is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
async def test_a_part_must_be_a_finite_number(value: float) -> None:
    with pytest.raises(ValueError, match="'accuracy'"):
        await Rubric({"accuracy": (lambda task, text: value, 1.0)}).score(TASK, "")


def test_a_rubric_that_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match="no parts"):
        Rubric({})
    with pytest.raises(UserError, match="weight"):
        Rubric({"accuracy": (lambda task, text: 1.0, math.nan)})


async def test_an_environment_may_score_a_whole_transcript_itself() -> None:
    class Counting(Environment):
        async def score(self, task: Task, transcript: Transcript) -> Score:
            return Score(float(len(transcript)))

    async with Verifier(Counting([TASK], system_prompt="Be brief.")) as verifier:
        assert (await verifier.score(TASK, "a")).reward == 3
        assert (await verifier.score(TASK, [{"role": "assistant", "content": "a"}])).reward == 1


def test_names_and_options_are_checked() -> None:
    @register("registry-test")
    def build(size: int = 3) -> Environment:
        """What it is.

        And more."""
        return Environment([TASK] * size)

    assert "registry-test" in list_environments()
    assert {"arithmetic", "code", "countdown", "math"} <= set(list_environments())
    assert make("registry-test", size=2).name == "registry-test"
    with pytest.raises(UserError, match="'math'"):
        make("maths")
    with pytest.raises(UserError, match="'size'"):
        make("registry-test", siz=2)
    with pytest.raises(UserError, match="two environments"):

        @register("registry-test")
        def other() -> Environment:
            return Environment()


def test_a_record_of_the_wrong_shape_is_refused() -> None:
    env = Environment([TASK])
    with pytest.raises(UserError, match="'prompt' is int"):
        env.task_from_record({"prompt": 5}, "1")
    with pytest.raises(UserError, match="'answer' is list"):
        env.task_from_record({"prompt": "5", "answer": []}, "1")
    task = env.task_from_record({"prompt": "5", "answer": 7, "extra": 1, "completion": "x"}, "9")
    assert (task.id, task.answer, task.info) == ("9", "7", {"extra": 1})
