"""Runs a program on its tests, first to last, and says what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from acidtest.sandbox import Outcome, Program, Sandbox, Status

from .checkers import accepts
from .extract import Found
from .spec import CodeSpec, StdioTests

ACCEPTED = "accepted"
WRONG_ANSWER = "wrong_answer"
RUNTIME_ERROR = "runtime_error"
UNAVAILABLE = "unavailable"

_VERDICTS = {
    Status.NONZERO_EXIT: RUNTIME_ERROR,
    Status.SIGNALLED: RUNTIME_ERROR,
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """verdict: `accepted`, `wrong_answer`, `runtime_error`, `compile_error`, a limit's name, or `unavailable`.

    passed: how many of the `total` tests were passed. detail: the first test that was not, without its data.
    """

    verdict: str
    passed: int
    total: int
    detail: str = ""


async def judge(program: Found, spec: CodeSpec, sandbox: Sandbox, *, run_all: bool = False) -> Judgement:
    """Run `program` on the tests of `spec`; the first failure, in their order, gives the verdict.

    run_all: go on after a failure, to count what is passed. A test that could not be run makes the whole judgement
    unavailable, unless an earlier one had failed already.
    """
    tests = spec.tests
    inputs = [case.input.encode() for case in tests.cases]
    source = Program(program.language, program.source)
    # Most wrong programs fail on the first test, so it goes alone; the others then run side by side.
    outcomes = await sandbox.run_many(source, inputs[:1], spec.limits)
    if len(inputs) > 1 and (run_all or _passes(tests, 0, outcomes[0])):
        outcomes += await sandbox.run_many(source, inputs[1:], spec.limits, stop_at_failure=not run_all)
    passes = [_passes(tests, place, outcome) for place, outcome in enumerate(outcomes)]
    if all(passes) and len(passes) == len(inputs):
        return Judgement(ACCEPTED, len(inputs), len(inputs))
    first = passes.index(False)
    verdict = _verdict(outcomes[first])
    if run_all and any(outcome.status is Status.UNAVAILABLE for outcome in outcomes):
        verdict, first = (
            UNAVAILABLE,
            next(place for place, outcome in enumerate(outcomes) if outcome.status is Status.UNAVAILABLE),
        )
    return Judgement(verdict, sum(passes), len(inputs), _detail(verdict, first, len(inputs), outcomes[first]))


def _passes(tests: StdioTests, place: int, outcome: Outcome) -> bool:
    return outcome.status is Status.OK and accepts(tests, tests.cases[place].output, outcome.stdout)


def _verdict(outcome: Outcome) -> str:
    if outcome.status is Status.OK:
        return WRONG_ANSWER
    return _VERDICTS.get(outcome.status, outcome.status.value)


def _detail(verdict: str, place: int, total: int, outcome: Outcome) -> str:
    if verdict == Status.COMPILE_ERROR:
        return outcome.detail
    if verdict == WRONG_ANSWER:
        return f"test {place + 1} of {total}: the output is not the expected one"
    return f"test {place + 1} of {total}: {outcome.detail}"
