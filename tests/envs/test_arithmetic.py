from __future__ import annotations

import re

import pytest

from acidtest.envs import UserError, Verifier, make
from acidtest.envs.arithmetic import LEVELS
from acidtest.envs.expression import evaluate


def unordered(prompt: str) -> tuple[str, ...]:
    """What a question and its twin the other way round have in common."""
    inner = re.search(r"\(.*\)", prompt)
    parts = [prompt] if inner is None else [inner[0], prompt.replace(inner[0], "")]
    return tuple(" ".join(sorted(re.findall(r"\d+|[-+*]", part))) for part in parts)


@pytest.mark.parametrize("level", LEVELS)
def test_gold_answers_are_right_and_the_test_split_is_held_out(level: int) -> None:
    env = make("arithmetic", level=level)
    train, test = env.tasks("train"), env.tasks("test")
    for task in (*train, *test):
        assert isinstance(task.prompt, str)
        assert evaluate(task.prompt.removeprefix("What is ").removesuffix("?")) == int(task.answer or "")
    assert len({task.id for task in (*train, *test)}) == len(train) + len(test)
    prompts = [{unordered(str(task.prompt)) for task in tasks} for tasks in (train, test)]
    assert not prompts[0] & prompts[1]
    assert len(test) >= 100


def test_tasks_depend_on_the_seed_alone() -> None:
    first, again, other = (make("arithmetic", size=50, seed=seed).tasks("train") for seed in (1, 1, 2))
    assert first == again
    assert len({task.id for task in first} & {task.id for task in other}) < 10


async def test_styles_differ_in_what_they_take() -> None:
    question, bare = make("arithmetic"), make("arithmetic", style="bare")
    async with Verifier(question) as lenient, Verifier(bare) as strict:
        task, same = question.tasks("test")[0], bare.tasks("test")[0]
        assert same.prompt == f"{task.id.removeprefix('arithmetic-')}="
        for text, takes in ((task.answer, True), (f" {task.answer}\n", True), (f"It is {task.answer}.", False)):
            assert (await strict.score(same, str(text))).correct is takes
            assert (await lenient.score(task, str(text))).correct is True
        for text in (f"0{task.answer}", f"+{task.answer}", f"{task.answer}.0", "", "\u0661"):
            assert (await strict.score(same, text)).reward == 0
        assert (await lenient.score(task, "1")).verdict == "wrong"
        assert (await lenient.score(task, "well")).verdict == "no_answer"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"level": 9}, "level 9"),
        ({"style": "loud"}, "loud"),
        ({"size": 0}, "size"),
        ({"test_size": "many"}, "test_size"),
        ({"rubric": "r2"}, "r1"),
        ({"weights": {"acuracy": 1}}, "acuracy"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make("arithmetic", **options)


def test_more_tasks_than_there_are_is_refused() -> None:
    with pytest.raises(UserError, match="no more than"):
        make("arithmetic", level=1, size=5000).tasks("train")
    with pytest.raises(UserError, match="split 'dev'"):
        make("arithmetic").tasks("dev")


def test_a_record_needs_a_number_as_its_answer() -> None:
    env = make("arithmetic")
    with pytest.raises(UserError, match="no gold answer"):
        env.task_from_record({"id": "x", "prompt": "1+1"}, "1")
    with pytest.raises(UserError, match="must be a number"):
        env.task_from_record({"id": "x", "prompt": "1+1", "answer": "two"}, "1")
