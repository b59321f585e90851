from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from acidtest.envs import Task, UserError, Verifier, make
from acidtest.envs.code.checkers import accepts
from acidtest.envs.code.extract import find_program
from acidtest.envs.code.spec import StdioTests, code_spec
from acidtest.sandbox import Limits, Outcome, Program, Status

DOUBLE = {"kind": "stdio", "cases": [{"input": f"{n}\n", "output": f"{2 * n}\n"} for n in (2, 3, 7)]}


def task(**info: Any) -> Task:
    return Task("t", "Double it.", None, {"tests": DOUBLE, **info})


def fenced(source: str, tag: str = "python") -> str:
    return f"Here:\n```{tag}\n{source}\n```\n"


@pytest.mark.parametrize(
    ("text", "languages", "source"),
    [
        (fenced("a = 1"), ["python"], "a = 1\n"),
        (fenced("a = 1", "py3") + fenced("b = 2", "Python3"), ["python"], "b = 2\n"),
        (fenced("a = 1") + fenced("$ python a.py", "bash") + fenced("42", "text"), ["python"], "a = 1\n"),
        (fenced("a = 1", ""), ["python"], "a = 1\n"),
        (fenced("#include <x>", ""), ["python", "cpp"], "#include <x>\n"),
        (fenced("int main(){}", "c++"), ["python", "cpp"], "int main(){}\n"),
        ("```python\nprint(1)", ["python"], "print(1)"),
        ("<think>" + fenced("a = 1") + "</think>" + fenced("b = 2"), ["python"], "b = 2\n"),
        ("<think>" + fenced("a = 1") + "</think>", ["python"], None),
        ("<answer>" + fenced("a = 1") + "</answer>" + fenced("b = 2"), ["python"], "a = 1\n"),
        ("print(1)\n", ["python"], "print(1)\n"),
        ("n, m = map(int, input().split())\nprint(n)", ["python"], "n, m = map(int, input().split())\nprint(n)"),
        ("The answer is to loop.", ["python"], None),
        (fenced("int main(){}", "cpp"), ["python"], None),
        (fenced("  "), ["python"], None),
        ("", ["python"], None),
    ],
)
def test_the_program_of_a_completion(text: str, languages: list[str], source: str | None) -> None:
    found = find_program(text, languages)
    assert (None if found is None else found.source) == source


@pytest.mark.parametrize(
    ("checker", "expected", "actual", "right"),
    [
        ("tokens", "1 2\n3\n", b"1  2 3", True),
        ("tokens", "1 2", b"12", False),
        ("tokens", "1 2", b"1 2 3", False),
        ("lines", "a b\nc\n", b"a b  \r\nc\n\n", True),
        ("lines", "a b", b"a  b", False),
        ("lines", "\na", b"a", False),
        ("exact", "a\n", b"a\n", True),
        ("exact", "a\n", b"a", False),
        ("float", "0.5", b"0.5000001", True),
        ("float", "1000000", b"1000000.5", True),
        ("float", "0.5", b"0.51", False),
        ("float", "0.5", b"nan", False),
        ("float", "nan", b"nan", True),
        ("float", "1", b"inf", False),
        ("float", "10", b"1_0", False),
        ("float", "yes 1", b"yes 1.0", True),
        ("float", "yes 1", b"no 1.0", False),
        ("float", "1 2", b"1", False),
        ("unordered_lines", "a\nb\nb\n", b"b\na\nb", True),
        ("unordered_lines", "a\nb\nb\n", b"b\na\na", False),
        ("tokens", "\u00e9", b"\xe9", False),
    ],
)
def test_checkers(checker: Any, expected: str, actual: bytes, right: bool) -> None:
    tests = StdioTests(kind="stdio", checker=checker, cases=({"input": "", "output": expected},))  # type: ignore[arg-type]
    assert accepts(tests, expected, actual) is right


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("print(2 * int(input()))", "accepted"),
        ("print(4)", "wrong_answer"),
        ("n = int(input())\nprint(2 * n if n < 7 else 0)", "wrong_answer"),
        ("1 / 0", "runtime_error"),
        ("print(2 * int(input())); raise SystemExit(1)", "runtime_error"),
        ("print(", "runtime_error"),
        ("while True: pass", "time_limit"),
        ("a = []\nwhile True: a.append(bytearray(10**7))", "memory_limit"),
        ("while True: print('x' * 10**6)", "output_limit"),
        ("import os\nwhile True: os.fork()", "process_limit"),
    ],
)
async def test_each_failure_has_its_verdict_and_leaks_no_test(source: str, verdict: str) -> None:
    limits = {"cpu_s": 1, "memory_mb": 200, "processes": 16}
    async with Verifier(make("code")) as verifier:
        score = await verifier.score(task(limits=limits), fenced(source))
    assert (score.verdict, score.reward) == (verdict, float(verdict == "accepted")), score
    assert "14" not in score.detail


async def test_compile_errors_and_other_languages() -> None:
    async with Verifier(make("code")) as verifier:
        good = "#include <iostream>\nint main(){int a;std::cin>>a;std::cout<<2*a;}"
        both = task(language=["python", "cpp"])
        assert (await verifier.score(both, fenced(good, "cpp"))).verdict == "accepted"
        assert (await verifier.score(both, fenced("int main( {", "cpp"))).verdict == "compile_error"
        assert (await verifier.score(task(), fenced(good, "cpp"))).verdict == "no_code"


async def test_fraction_counts_what_is_passed() -> None:
    async with Verifier(make("code", reward="fraction")) as verifier:
        score = await verifier.score(task(), fenced("n = int(input())\nprint(2 * n if n != 3 else 0)"))
    assert (score.reward, score.correct, score.verdict) == (pytest.approx(2 / 3), False, "wrong_answer")
    assert score.detail.startswith("test 2 of 3")


class Broken:
    """Stands for a box whose machine fails; the real one cannot be made to on demand."""

    name = "broken"

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = list(outcomes)

    async def run(self, program: Program, limits: Limits | None = None) -> Outcome:
        return self.outcomes[0]

    async def run_many(
        self, program: Program, stdins: Sequence[bytes], limits: Limits | None = None, *, stop_at_failure: bool = False
    ) -> list[Outcome]:
        taken, self.outcomes = self.outcomes[: len(stdins)], self.outcomes[len(stdins) :]
        return taken

    async def __aenter__(self) -> Broken:
        return self

    async def __aexit__(self, *error: object) -> None: ...


OK = Outcome(Status.OK, 0, stdout=b"4")
WRONG = Outcome(Status.OK, 0, stdout=b"0")
DEAD = Outcome(Status.UNAVAILABLE, detail="the engine died")


@pytest.mark.parametrize(
    ("outcomes", "verdict", "reward"),
    [
        ([DEAD], "unavailable", None),
        ([OK, DEAD], "unavailable", None),
        ([WRONG], "wrong_answer", 0.0),
        ([OK, WRONG, DEAD], "wrong_answer", 0.0),
    ],
)
async def test_a_dead_box_is_no_wrong_answer(outcomes: list[Outcome], verdict: str, reward: float | None) -> None:
    async with Verifier(make("code"), sandbox=Broken(outcomes * 3)) as verifier:
        score = await verifier.score(task(), fenced("print(4)"))
    assert (score.verdict, score.reward) == (verdict, reward)


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"tests": None}, "no tests"),
        ({"tests": "{"}, "not valid JSON"),
        ({"tests": [1]}, "list"),
        ({"tests": {"kind": "stdio", "cases": []}}, "cases"),
        ({"tests": {"kind": "stdioo", "cases": []}}, "'stdio'"),
        ({"tests": {"kind": "call", "cases": [{}]}}, "kind"),
        ({"tests": {**DOUBLE, "checker": "token"}}, "checker"),
        ({"tests": {**DOUBLE, "casess": []}}, "casess"),
        ({"language": "pyton"}, "'python'"),
        ({"limits": {"cpu": 1}}, "'cpu_s'"),
        ({"limits": {"cpu_s": -1}}, "cpu_s"),
        ({"limits": 5}, "limits"),
    ],
)
def test_a_task_that_cannot_be_judged_is_refused(info: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        code_spec(task(**info))
    assert "'t'" in str(caught.value)
