"""Generated arithmetic: the quickest environment to learn, and to check."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from .environment import Environment
from .errors import UserError
from .numbers import final_number, only_number
from .r1 import choose_rubric
from .registry import register
from .rubric import PartScore
from .task import Task

VERSION = "1"
TEST_SHARE = 0.2
"""Share of all questions that is held out."""

DEFAULT_SIZE = {"train": 5000, "test": 400}
_BARE = re.compile(r"-?(?:0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, its value, and a key that is the same for questions that give each other's answer away."""

    text: str
    value: int
    key: str


@register("arithmetic")
def arithmetic(
    *,
    level: int = 2,
    style: str = "question",
    size: int | None = None,
    test_size: int | None = None,
    seed: int = 0,
    rubric: str = "accuracy",
    weights: Mapping[str, float] | None = None,
) -> Environment:
    """Sums, differences and products, generated from a seed, in five levels of difficulty.

    level: 1 sums and differences of numbers up to 20; 2 two-digit sums; 3 three-digit sums and differences;
    4 products of a two-digit and a one-digit number; 5 three numbers with brackets. style: `question` asks "What is
    47 + 35?" and reads the answer from `<answer>`, `\\boxed{}` or the last number; `bare` asks "47+35=" and takes
    nothing but the number.
    size, test_size: tasks of each split, by default up to 5000 and 400 as far as the level has them. No question of
    the test split is in the training split, the other way round (35 + 47) included. Raises UserError for a level, a
    style or a size that there is not.
    """
    if level not in LEVELS:
        raise UserError(f"arithmetic has no level {level!r}; take one from 1 to {len(LEVELS)}")
    if style not in {"question", "bare"}:
        raise UserError(f"arithmetic has no style {style!r}; take 'question' or 'bare'")
    sizes = {"train": size, "test": test_size}
    for name, value in (("size", size), ("test_size", test_size)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UserError(f"{name} is {value!r}; it must be a whole number of at least 1")

    @cache
    def tasks(split: str) -> list[Task]:
        if split not in sizes:
            raise UserError(f"arithmetic has no split {split!r}; it has train and test")
        wanted = sizes[split]
        questions = _distinct(level, split, seed, DEFAULT_SIZE[split] if wanted is None else wanted)
        if wanted is not None and len(questions) < wanted:
            raise UserError(
                f"level {level} has no more than {len(questions)} different questions for the split {split!r}, "
                f"and {wanted} were asked for; ask for fewer or take a higher level"
            )
        return [_task(question, style) for question in questions]

    accuracy = _bare_accuracy if style == "bare" else _accuracy
    return Arithmetic(tasks, choose_rubric(accuracy, rubric, weights), version=VERSION)


class Arithmetic(Environment):
    """`arithmetic` as an environment: a task needs its gold answer, a whole number."""

    def task_from_record(self, record: Mapping[str, Any], task_id: str) -> Task:
        """As `Environment.task_from_record`; the answer must be there and be a number."""
        task = super().task_from_record(record, task_id)
        if task.answer is None:
            raise UserError(f"task {task.id!r} has no gold answer; give it a field 'answer'")
        if only_number(task.answer) is None:
            raise UserError(f"the gold answer of task {task.id!r} is {task.answer!r}; it must be a number")
        return task


def _accuracy(task: Task, completion: str) -> PartScore:
    return _compare(task, final_number(completion))


def _bare_accuracy(task: Task, completion: str) -> PartScore:
    text = completion.strip()
    return _compare(task, Fraction(text) if len(text) < 100 and _BARE.fullmatch(text) else None)


def _compare(task: Task, found: Fraction | None) -> PartScore:
    if task.answer is None:
        raise UserError(f"task {task.id!r} has no gold answer")
    if found is None:
        return PartScore(0.0, "no_answer", "no single number was found as the answer")
    return PartScore(1.0, "correct") if found == only_number(task.answer) else PartScore(0.0, "wrong")


def _task(question: Question, style: str) -> Task:
    prompt = f"{question.text.replace(' ', '')}=" if style == "bare" else f"What is {question.text}?"
    return Task(f"arithmetic-{question.text.replace(' ', '')}", prompt, str(question.value))


def _distinct(level: int, split: str, seed: int, count: int) -> list[Question]:
    found: dict[str, Question] = {}
    misses = 0
    for question in _draws(level, split, seed):
        if len(found) == count or misses > MAX_MISSES:
            break
        is_test = _unit_interval(VERSION, level, question.key) < TEST_SHARE
        fresh = question.text not in found
        if is_test == (split == "test") and fresh:
            found[question.text] = question
            misses = 0
        else:
            misses += 1
    return list(found.values())


MAX_MISSES = 3000
"""So many draws in a row without a new question mean that there is none left, or next to none."""


def _draws(level: int, split: str, seed: int) -> Iterator[Question]:
    index = 0
    while True:
        # A hash, because seed + index would give neighbouring seeds nearly the same questions.
        yield LEVELS[level](random.Random(f"arithmetic:{VERSION}:{level}:{split}:{seed}:{index}"))
        index += 1


def _unit_interval(*parts: object) -> float:
    digest = hashlib.sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _sum(low: int, high: int) -> Callable[[random.Random], Question]:
    def draw(random: random.Random) -> Question:
        a, b = random.randint(low, high), random.randint(low, high)
        return Question(f"{a} + {b}", a + b, f"{min(a, b)}+{max(a, b)}")

    return draw


def _sum_or_difference(low: int, high: int) -> Callable[[random.Random], Question]:
    def draw(random: random.Random) -> Question:
        if random.random() < 0.5:
            return _sum(low, high)(random)
        a, b = random.randint(low, high), random.randint(low, high)
        return Question(f"{a} - {b}", a - b, f"{min(a, b)}-{max(a, b)}")

    return draw


def _product(random: random.Random) -> Question:
    a, b = random.randint(10, 99), random.randint(2, 9)
    text = f"{a} * {b}" if random.random() < 0.5 else f"{b} * {a}"
    return Question(text, a * b, f"{b}*{a}")


def _brackets(random: random.Random) -> Question:
    a, b, c = random.randint(2, 99), random.randint(2, 99), random.randint(2, 9)
    sign = random.choice("+-")
    inner = a + b if sign == "+" else a - b
    key = f"{min(a, b)}{sign}{max(a, b)}*{c}"
    if random.random() < 0.5:
        return Question(f"({a} {sign} {b}) * {c}", inner * c, key)
    return Question(f"{c} * ({a} {sign} {b})", c * inner, key)


LEVELS: dict[int, Callable[[random.Random], Question]] = {
    1: _sum_or_difference(0, 20),
    2: _sum(10, 99),
    3: _sum_or_difference(100, 999),
    4: _product,
    5: _brackets,
}
"""How each level draws a question."""
