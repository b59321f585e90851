"""The `code` environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import held_out, load_records
from ..environment import Environment
from ..errors import UserError, unknown_name
from ..r1 import choose_rubric
from ..registry import register
from ..rubric import PartScore
from ..task import Task

if TYPE_CHECKING:
    from acidtest.sandbox import Sandbox

BUNDLED = Path(__file__).with_name("problems.jsonl")
VERSION = "1"
REWARDS = ("all", "fraction")

FENCED = "Solve the problem with one complete program in a fenced code block."
THINK = (
    "Reason step by step between <think> and </think>, then give one complete program in a fenced code block between "
    "<answer> and </answer>."
)


@register("code")
def code(
    *,
    data: str = "bundled",
    split: str = "train",
    test_fraction: float = 0.2,
    reward: str = "all",
    system_prompt: str | None = None,
    rubric: str = "accuracy",
    weights: Mapping[str, float] | None = None,
    language: str = "en",
) -> Environment:
    """Programming problems: the program runs in isolation on hidden tests, and its output is compared outside.

    data: `bundled`, a jsonl or parquet file, or a hub data set (then `split` is its part). test_fraction: the share
    held out, by a hash of the id. reward: `all` gives 1 when every test is passed, `fraction` the share that is.
    system_prompt: how to answer; None asks for a fenced block, or for R1's tags with `rubric = "r1"`. language: of the
    prose, for the rubric `r1`. Raises UserError for data or options that cannot be used.
    """
    if reward not in REWARDS:
        raise UserError(unknown_name("reward", reward, REWARDS))
    if system_prompt is None:
        system_prompt = THINK if rubric == "r1" else FENCED

    environment: CodeEnvironment

    @cache
    def everything() -> list[Task]:
        source = str(BUNDLED) if data == "bundled" else data
        return [
            _task(environment, record, source, number) for number, record in enumerate(load_records(source, split), 1)
        ]

    @cache
    def tasks(part: str) -> list[Task]:
        return held_out(everything(), part, test_fraction)

    environment = CodeEnvironment(tasks, system_prompt=system_prompt, version=VERSION)
    environment.count_passed = reward == "fraction"
    environment.rubric = choose_rubric(environment.accuracy, rubric, weights, language)
    return environment


class CodeEnvironment(Environment):
    """Holds the sandbox; see `code`."""

    count_passed: bool = False
    _sandbox: Sandbox | None = None
    _own: Sandbox | None = None

    def task_from_record(self, record: Mapping[str, Any], task_id: str) -> Task:
        """As `Environment.task_from_record`. Raises UserError for tests, languages or limits that cannot be used."""
        from .spec import code_spec  # noqa: PLC0415  (pydantic is slow to import)

        task = super().task_from_record(record, task_id)
        code_spec(task)
        return task

    async def open(self, *, sandbox: Sandbox | str = "auto", workers: int | None = None) -> None:
        """Use `sandbox`, or open the one with that name. Raises SandboxError where it cannot be had."""
        from acidtest.sandbox import open_sandbox  # noqa: PLC0415

        if isinstance(sandbox, str):
            self._own = open_sandbox(sandbox)
            await self._own.__aenter__()
            sandbox = self._own
        self._sandbox = sandbox

    async def close(self) -> None:
        """Close the sandbox if it was opened here."""
        self._sandbox = None
        if self._own is not None:
            own, self._own = self._own, None
            await own.__aexit__(None, None, None)

    async def accuracy(self, task: Task, completion: str) -> PartScore:
        """1 when the completion's program passes every test; with `reward = "fraction"` the share that it passes."""
        from .extract import find_program  # noqa: PLC0415
        from .judge import UNAVAILABLE, judge  # noqa: PLC0415
        from .spec import code_spec  # noqa: PLC0415

        spec = code_spec(task)
        if self._sandbox is None:
            raise RuntimeError("the code environment is not open; score through a Verifier")
        program = find_program(completion, spec.languages)
        if program is None:
            return PartScore(0.0, "no_code", f"no program in {' or '.join(spec.languages)} was found")
        found = await judge(program, spec, self._sandbox, run_all=self.count_passed)
        if found.verdict == UNAVAILABLE:
            return PartScore(None, found.verdict, found.detail)
        value = found.passed / found.total if self.count_passed else float(found.passed == found.total)
        return PartScore(value, found.verdict, found.detail)


def _task(environment: CodeEnvironment, record: dict[str, Any], source: str, number: int) -> Task:
    try:
        task = environment.task_from_record(record, str(number))
    except UserError as error:
        raise UserError(f"{source}, record {number}: {error}") from error
    if not task.prompt:
        raise UserError(f"{source}, record {number}: task {task.id!r} has no problem; give it a field 'prompt'")
    return task
