"""The tests of a programming task, as they stand in a task line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acidtest.sandbox import LANGUAGES, Limits

from ..errors import UserError, unknown_name
from ..task import Task

Checker = Literal["tokens", "lines", "exact", "float", "unordered_lines"]

DEFAULT_LIMITS = {"cpu_s": 5.0, "memory_mb": 512}
"""Where a task names no limits."""


class StdioCase(BaseModel):
    """What the program reads, and what it must write."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: str
    output: str


class StdioTests(BaseModel):
    """The program reads standard input and writes standard output; see `checkers` for each checker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["stdio"]
    cases: Annotated[tuple[StdioCase, ...], Field(min_length=1)]
    checker: Checker = "tokens"
    abs_tol: Annotated[float, Field(ge=0)] = 1e-6
    """For the checker `float`."""
    rel_tol: Annotated[float, Field(ge=0)] = 1e-6
    """For the checker `float`."""


KINDS = ("stdio",)


class CodeSpec(BaseModel):
    """Everything that judging one task needs."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    tests: StdioTests
    languages: tuple[str, ...]
    limits: Limits


def code_spec(task: Task) -> CodeSpec:
    """The specification in `task.info`: `tests`, `language` and `limits`. Raises UserError naming what is wrong."""
    return CodeSpec(
        tests=_tests(task), languages=_languages(task), limits=_limits(task.info.get("limits") or {}, task.id)
    )


def _tests(task: Task) -> StdioTests:
    tests = task.info.get("tests")
    if isinstance(tests, str):
        try:
            tests = json.loads(tests)
        except ValueError as error:
            raise UserError(f"the field 'tests' of task {task.id!r} is not valid JSON: {error}") from error
    if not tests:
        raise UserError(f"task {task.id!r} has no tests; give it a field 'tests'")
    if not isinstance(tests, Mapping):
        raise UserError(f"the field 'tests' of task {task.id!r} is {type(tests).__name__}; it must be an object")
    if tests.get("kind") not in KINDS:
        raise UserError(f"task {task.id!r}: {unknown_name('kind of tests', str(tests.get('kind')), KINDS)}")
    try:
        return StdioTests(**tests)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, ("tests", *problem["loc"])))
        raise UserError(f"task {task.id!r}: {place}: {problem['msg']}") from error


def _languages(task: Task) -> tuple[str, ...]:
    given = task.info.get("language") or "python"
    languages = (given,) if isinstance(given, str) else tuple(given)
    for language in languages:
        if language not in LANGUAGES:
            raise UserError(f"task {task.id!r}: {unknown_name('language', str(language), LANGUAGES)}")
    return languages


def _limits(given: Any, task_id: str) -> Limits:
    names = Limits.__dataclass_fields__
    if not isinstance(given, Mapping):
        raise UserError(f"the field 'limits' of task {task_id!r} is {type(given).__name__}; it must be an object")
    for name in given:
        if name not in names:
            raise UserError(f"task {task_id!r}: {unknown_name('limit', str(name), names)}")
    try:
        return Limits(**{**DEFAULT_LIMITS, **given})
    except ValueError as error:
        raise UserError(f"task {task_id!r}: {error}") from error
