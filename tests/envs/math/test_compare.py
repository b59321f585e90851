from __future__ import annotations

from collections.abc import AsyncIterator
from fractions import Fraction

import pytest

from acidtest.envs import Task, UserError, Verifier, make
from acidtest.envs.math import pool as pool_module
from acidtest.envs.math.compare import compare, compare_exactly
from acidtest.envs.math.exact import exact_number
from acidtest.envs.math.extract import final_answer
from acidtest.envs.math.pool import WorkerPool
from acidtest.envs.math.records import task_from_math_record


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    made = WorkerPool(1)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-1,000", -1000),
        ("2.50", Fraction(5, 2)),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"\dfrac12", Fraction(1, 2)),
        (r"-\frac{7}{2}", Fraction(-7, 2)),
        ("6/8", Fraction(3, 4)),
        ("$ 42 $", 42),
        ("1/0", None),
        ("x", None),
        ("", None),
        ("1,00", None),
        ("9" * 1000, None),
    ],
)
def test_exact_numbers(text: str, value: Fraction | int | None) -> None:
    assert exact_number(text) == value


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        (r"So \boxed{5}.", "5"),
        (r"\boxed{4}, no: \boxed{5}", "5"),
        (r"\boxed{1} and \boxed{2}", "1, 2"),
        (r"<think>\boxed{5}</think>", None),
        (r"<answer>\frac{1}{2}</answer>", r"\frac{1}{2}"),
        ("The answer is 7.5.", "7.5"),
        ("The final answer is: $x^2$.", "x^2"),
        ("The answer is 2 or 3", None),
        ("\u7b54\u6848\u662f 8", "8"),
        ("We get $a = 3$", "3"),
        ("well, 12", "12"),
        ("nothing", None),
    ],
)
def test_the_final_answer_of_a_completion(completion: str, answer: str | None) -> None:
    assert final_answer(completion) == answer


@pytest.mark.parametrize(
    ("gold", "answer", "verdict"),
    [
        ("0.5", r"\frac12", "correct"),
        ("5", "x = 5", "correct"),
        ("1/2", "0.50000001", "wrong"),
        (r"2\sqrt{3}", r"\sqrt{12}", "correct"),
        ("x^2 - 1", "(x-1)(x+1)", "correct"),
        (r"\{1, 2\}", r"\{2, 1\}", "correct"),
        ("(1, 2)", "(2, 1)", "wrong"),
        (r"\pi", "3.14", "wrong"),
    ],
)
async def test_equal_values_in_other_forms(pool: WorkerPool, gold: str, answer: str, verdict: str) -> None:
    assert (await compare(gold, answer, pool)).verdict == verdict


@pytest.mark.parametrize(
    "answer",
    [
        "9" * 100_000,
        "(" * 5000 + "1" + ")" * 5000,
        "10^{10^{10^{10}}}",
        "10^{10000000}",
        "100000000!",
        r"\frac{1}{9^{9^{9^{9}}}}",
        "__import__('os').system('true')",
        r"\sum_{n=1}^{999999999} \frac{1}{n^{n}}",
        r"\int \int \int e^{\sin(x^{\cos x})} dx dx dx",
        "((((((((((2^9)^9)^9)^9)^9)^9)^9)^9)^9)^9)^9",
    ],
)
async def test_a_hostile_answer_is_wrong_and_the_next_one_is_still_compared(pool: WorkerPool, answer: str) -> None:
    found = await compare("5", answer, pool)
    assert found.verdict in {"wrong", "no_answer", "too_complex", "undecided"}
    assert (await compare(r"\sqrt{4}", "2", pool)).verdict == "correct"


async def test_a_worker_that_uses_too_much_time_is_killed(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "CPU_S", -1.0)
    assert (await compare(r"\sqrt{8}", r"2\sqrt{2}", pool)).verdict == "undecided"
    monkeypatch.undo()
    assert (await compare(r"\sqrt{8}", r"2\sqrt{2}", pool)).verdict == "correct"


async def test_a_worker_that_was_killed_is_replaced_within_the_same_comparison(pool: WorkerPool) -> None:
    assert (await compare(r"\sqrt{8}", r"2\sqrt{2}", pool)).verdict == "correct"
    (worker,) = pool._idle
    worker.process.kill()
    worker.process.wait()
    assert (await compare(r"\sqrt{8}", r"2\sqrt{2}", pool)).verdict == "correct"


def test_plain_numbers_need_no_worker() -> None:
    for gold, answer in (("5", "5.0"), ("5", "6"), (r"\frac{1}{2}", "0.5"), ("abc", "a b c")):
        assert compare_exactly(gold, answer) is not None
    assert compare_exactly("x+1", "1+x") is None


@pytest.mark.parametrize(
    ("record", "prompt", "answer"),
    [
        ({"question": "q", "answer": "so\n#### 18"}, "q", "18"),
        ({"problem": "q", "solution": r"thus \boxed{7}"}, "q", "7"),
        (
            {"prompt": [{"role": "user", "content": "q"}], "reward_model": {"ground_truth": "34"}},
            [{"role": "user", "content": "q"}],
            "34",
        ),
        ({"Problem": "q", "Answer": 204}, "q", "204"),
    ],
)
def test_records_of_known_data_sets(record: dict[str, object], prompt: object, answer: str) -> None:
    task = task_from_math_record(record, "1")
    assert (task.prompt, task.answer) == (prompt, answer)


@pytest.mark.parametrize("record", [{"id": "p7", "prompt": "q"}, {"id": "p7", "prompt": "q", "answer": " "}])
def test_a_problem_without_gold_is_named(record: dict[str, object]) -> None:
    with pytest.raises(UserError, match="'p7' has no gold answer"):
        task_from_math_record(record, "1")


async def test_a_gold_answer_that_is_no_mathematics_is_unavailable() -> None:
    async with Verifier(make("math")) as verifier:
        score = await verifier.score(Task("t", "?", r"\text{ }"), r"\boxed{x+1}")
    assert (score.reward, score.correct, score.verdict) == (None, None, "unparsable_gold")
