"""Countdown: reach a target from given numbers with + - * / and brackets."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from .environment import Environment
from .errors import UserError
from .expression import ExpressionError, evaluate, numbers_of
from .parsing import answer_tag, final_part, last_boxed
from .r1 import choose_rubric
from .registry import register
from .rubric import PartScore
from .task import Task

VERSION = "1"
TEST_SHARE = 0.1
MAX_TARGET = 999
_LATEX = (("\\times", "*"), ("\\cdot", "*"), ("\\div", "/"), ("\\left", ""), ("\\right", ""), ("$", ""))


@register("countdown")
def countdown(
    *,
    count: int = 4,
    max_number: int = 25,
    use_all: bool = False,
    size: int = 2000,
    test_size: int = 200,
    seed: int = 0,
    rubric: str = "accuracy",
    weights: Mapping[str, float] | None = None,
) -> Environment:
    """Reach a target from given numbers; the expression is parsed and computed exactly, never evaluated as code.

    count: how many numbers, 2 to 6. max_number: the largest of them. use_all: every number must be used, not just at
    most once. size, test_size: tasks of each split; none is in both. Every task can be solved. Raises UserError for an
    option out of range.
    """
    for name, value, low, high in (
        ("count", count, 2, 6),
        ("max_number", max_number, 9, 100),
        ("size", size, 1, 100_000),
        ("test_size", test_size, 1, 100_000),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UserError(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
    sizes = {"train": size, "test": test_size}

    @cache
    def tasks(split: str) -> list[Task]:
        if split not in sizes:
            raise UserError(f"countdown has no split {split!r}; it has train and test")
        return _generate(split, seed, sizes[split], (count, max_number, use_all))

    return Countdown(tasks, choose_rubric(_accuracy, rubric, weights), version=VERSION)


class Countdown(Environment):
    """`countdown` as an environment: a task needs the fields `numbers` and `target`."""

    def task_from_record(self, record: Mapping[str, Any], task_id: str) -> Task:
        """As `Environment.task_from_record`. Raises UserError for missing or malformed numbers or target."""
        task = super().task_from_record(record, task_id)
        _given(task)
        return task


def _accuracy(task: Task, completion: str) -> PartScore:
    numbers, target, use_all = _given(task)
    text = _expression(completion)
    if text is None:
        return PartScore(0.0, "no_answer", "no expression was found")
    try:
        used = numbers_of(text)
        over = Counter(used) - Counter(numbers)
        if over:
            return PartScore(0.0, "wrong_numbers", f"{min(over)} is used more often than it is given")
        if use_all and len(used) < len(numbers):
            return PartScore(0.0, "wrong_numbers", "not all numbers are used")
        value = evaluate(text)
    except ExpressionError as error:
        return PartScore(0.0, "malformed", str(error))
    if value != target:
        return PartScore(0.0, "wrong", f"it makes {value}")
    return PartScore(1.0, "correct")


def _expression(completion: str) -> str | None:
    """The expression in `<answer>`, else in the last box, else on the last line; `= target` at its end is dropped."""
    text = final_part(completion)
    marked = answer_tag(text)
    boxed = last_boxed(text if marked is None else marked)
    if boxed is not None:
        marked = boxed
    if marked is None:
        lines = [line for line in text.splitlines() if line.strip()]
        marked = re.sub(r"^[^\d(=]*", "", lines[-1]) if lines else ""
    for latex, plain in _LATEX:
        marked = marked.replace(latex, plain)
    return marked.partition("=")[0].strip().rstrip(".") or None


def _given(task: Task) -> tuple[list[int], int, bool]:
    numbers, target = task.info.get("numbers"), task.info.get("target", task.answer)
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or not numbers or not all(map(_is_whole, numbers)):
        raise UserError(f"the field 'numbers' of task {task.id!r} is {numbers!r}; it must be a list of whole numbers")
    if isinstance(target, str) and re.fullmatch(r"-?\d{1,9}", target):
        target = int(target)
    if not _is_whole(target):
        raise UserError(f"the field 'target' of task {task.id!r} is {target!r}; it must be a whole number")
    return list(numbers), target, bool(task.info.get("use_all", False))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _generate(split: str, seed: int, size: int, shape: tuple[int, int, bool]) -> list[Task]:
    count, max_number, use_all = shape
    found: dict[str, Task] = {}
    index = 0
    while len(found) < size:
        draw = random.Random(f"countdown:{VERSION}:{shape}:{split}:{seed}:{index}")
        index += 1
        if index > 1000 * size + 100_000:
            raise UserError(
                f"there are no {size} different tasks with {count} numbers up to {max_number}; ask for fewer"
            )
        numbers = [draw.randint(1, max_number) for _ in range(count)]
        text, target = _solution(draw, numbers)
        if target is None:
            continue
        key = f"{'-'.join(map(str, sorted(numbers)))}-{target}"
        if (_share(key) < TEST_SHARE) != (split == "test") or key in found:
            continue
        found[key] = _task(key, numbers, target, text, use_all)
    return list(found.values())


def _solution(draw: random.Random, numbers: list[int]) -> tuple[str, int | None]:
    """A random expression over all numbers and its value; None where that is no whole number from 10 to 999."""
    parts = [(str(number), Fraction(number)) for number in numbers]
    while len(parts) > 1:
        draw.shuffle(parts)
        (left, a), (right, b) = parts.pop(), parts.pop()
        operator = draw.choice("+-*/")
        if operator == "/" and b == 0:
            return "", None
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else Fraction(0)}[operator]
        parts.append((f"({left} {operator} {right})", value))
    text, value = parts[0]
    return text, int(value) if value.denominator == 1 and 10 <= value <= MAX_TARGET else None


def _task(key: str, numbers: list[int], target: int, solution: str, use_all: bool) -> Task:
    each = "every number exactly once" if use_all else "each number at most once"
    prompt = (
        f"Using the numbers {', '.join(map(str, numbers))}, make an expression that equals {target}. "
        f"You may use + - * / and brackets, and {each}. Put the expression between <answer> and </answer>."
    )
    info = {"numbers": numbers, "target": target, "use_all": use_all, "solution": solution}
    return Task(f"countdown-{key}", prompt, str(target), info)


def _share(key: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{VERSION}:{key}".encode()).digest()[:8], "big") / 2**64
