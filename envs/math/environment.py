"""The `math` environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import held_out, load_records
from ..environment import Environment
from ..errors import UserError
from ..r1 import choose_rubric
from ..registry import register
from ..rubric import PartScore
from ..task import Task
from ..workers import available_cpus
from .compare import compare
from .extract import final_answer
from .pool import WorkerPool
from .records import task_from_math_record

if TYPE_CHECKING:
    from acidtest.sandbox import Sandbox

BUNDLED = Path(__file__).with_name("problems.jsonl")
VERSION = "1"

BOXED = "Reason step by step, and put your final answer within \\boxed{}."
THINK = (
    "Reason step by step between <think> and </think>, then give only the final answer between <answer> and </answer>."
)
UNAVAILABLE = {"unavailable", "unparsable_gold"}


@register("math")
def math(
    *,
    data: str = "bundled",
    split: str = "train",
    test_fraction: float = 0.2,
    skip_without_answer: bool = False,
    system_prompt: str | None = None,
    rubric: str = "accuracy",
    weights: Mapping[str, float] | None = None,
    language: str = "en",
) -> Environment:
    """Problems with one answer, compared symbolically by SymPy and math-verify.

    data: `bundled`, a jsonl or parquet file, or a hub data set (then `split` is its part). test_fraction: the share
    held out, by a hash of the id. skip_without_answer: leave out problems without a gold answer instead of refusing
    the data. system_prompt: how to answer; None asks for a box, or for R1's tags with `rubric = "r1"`. Raises
    UserError for data that cannot be used.
    """
    if system_prompt is None:
        system_prompt = THINK if rubric == "r1" else BOXED

    @cache
    def everything() -> list[Task]:
        source = str(BUNDLED) if data == "bundled" else data
        return _tasks(load_records(source, split), source, skip_without_answer)

    @cache
    def tasks(part: str) -> list[Task]:
        return held_out(everything(), part, test_fraction)

    environment = MathEnvironment(tasks, system_prompt=system_prompt, version=VERSION)
    environment.rubric = choose_rubric(environment.accuracy, rubric, weights, language)
    return environment


class MathEnvironment(Environment):
    """Holds the worker processes; see `math`."""

    _pool: WorkerPool | None = None

    def task_from_record(self, record: Mapping[str, Any], task_id: str) -> Task:
        """As `records.task_from_math_record`."""
        return task_from_math_record(record, task_id)

    async def open(self, *, sandbox: Sandbox | str = "auto", workers: int | None = None) -> None:
        """Allow `workers` processes; each starts when it is first needed. The sandbox is not used."""
        self._pool = WorkerPool(min(workers or available_cpus(), available_cpus()))

    async def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.close()

    async def accuracy(self, task: Task, completion: str) -> PartScore:
        """1 when the completion's final answer is the gold one."""
        if task.answer is None:
            raise UserError(f"task {task.id!r} has no gold answer")
        if self._pool is None:
            raise RuntimeError("the math environment is not open; score through a Verifier")
        answer = final_answer(completion)
        if answer is None:
            return PartScore(0.0, "no_answer", "no final answer was found")
        found = await compare(task.answer, answer, self._pool)
        if found.verdict in UNAVAILABLE:
            return PartScore(None, found.verdict, f"the gold answer of task {task.id!r} is no mathematics")
        return PartScore(float(found.verdict == "correct"), found.verdict, found.detail)


def _tasks(records: list[dict[str, Any]], source: str, skip_without_answer: bool) -> list[Task]:
    tasks = []
    for number, record in enumerate(records, 1):
        try:
            task = task_from_math_record(record, str(number))
        except UserError as error:
            if skip_without_answer and "no gold answer" in str(error):
                continue
            raise UserError(f"{source}, record {number}: {error}") from error
        if not task.prompt:
            raise UserError(f"{source}, record {number}: task {task.id!r} has no problem; give it a field 'prompt'")
        tasks.append(task)
    if not tasks:
        raise UserError(f"the data {source} has no problem with a gold answer")
    return tasks
