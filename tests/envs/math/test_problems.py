"""The bundled problems: every gold answer is computed again, and the environment itself scores the completions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sympy
from math_verify import parse
from sympy import (
    FiniteSet,
    I,
    Integer,
    Interval,
    Matrix,
    Rational,
    cos,
    exp,
    log,
    oo,
    pi,
    sin,
    sqrt,
)

from acidtest.envs import Verifier, make
from acidtest.envs.math.environment import BUNDLED

x, y, k, n = sympy.symbols("x y k n")
DICE = list(itertools.product(range(1, 7), repeat=2))
COINS = list(itertools.product("HT", repeat=4))


def share(outcomes: list[Any], wanted: Callable[[Any], bool]) -> Any:
    return Rational(sum(map(wanted, outcomes)), len(outcomes))


def area(a: int, b: int, c: int) -> Any:
    """Of the triangle with these sides, by placing it: (0, 0), (c, 0) and the third corner."""
    along = Rational(a * a - b * b + c * c, 2 * c)
    return c * sqrt(a * a - along**2) / 2


def plain(gold: Any) -> Any:
    """The parsed gold answer with this file's symbols: the parser's are assumed real, and it leaves i as a symbol."""
    names = {"x": x, "i": I, "e": sympy.E}
    return sympy.sympify(gold).xreplace({symbol: names[symbol.name] for symbol in gold.free_symbols})


COMPUTED: dict[str, Callable[[], Any]] = {
    "math-001": lambda: Rational(45, 3) * 14,
    "math-002": lambda: 17 - 4 * 3 + Rational(8, 2),
    "math-003": lambda: Rational(2, 3) + Rational(1, 4),
    "math-004": lambda: Rational(5, 6) / Rational(10, 9),
    "math-005": lambda: 80 * Rational(125, 100) * Rational(80, 100),
    "math-006": lambda: Rational(84, 240),
    "math-007": lambda: Rational("0.375"),
    "math-008": lambda: Rational(210, 84),
    "math-009": lambda: 1 / (Rational(1, 6) + Rational(1, 8) + Rational(1, 12)),
    "math-010": lambda: sympy.solve(3 * x - 7 - (2 * x + 5), x)[0],
    "math-011": lambda: FiniteSet(*sympy.solve(x**2 - 5 * x + 6, x)),
    "math-012": lambda: max(sympy.solve(x**2 - 2 * x - 4, x)),
    "math-013": lambda: sympy.Tuple(*sympy.linsolve([x + y - 10, 2 * x - y - 5], [x, y]).args[0]),
    "math-014": lambda: sympy.solveset(x**2 < 9, x, sympy.S.Reals),
    "math-015": lambda: sympy.solveset(2 * x + 3 >= 11, x, sympy.S.Reals),
    "math-016": lambda: sympy.expand((x + 3) * (x - 5)),
    "math-017": lambda: sympy.factor(x**3 - 4 * x),
    "math-018": lambda: sympy.expand(sum(root**2 for root in sympy.solve(x**2 - 7 * x + 10, x))),
    "math-019": lambda: next(v for v in map(Integer, range(5, 100)) if v + 7 == (v - 5) ** 2),
    "math-020": lambda: sympy.solve(log(x - 1, 2) - 5, x)[0],
    "math-021": lambda: next(Rational(p, 2) for p in range(10) if 9 ** Rational(p, 2) == 27),
    "math-022": lambda: max(sympy.solve(sympy.discriminant(x**2 + k * x + 16, x), k)),
    "math-023": lambda: sympy.cancel((x**2 - 9) / (x - 3)),
    "math-024": lambda: Interval(*sorted(sympy.solve(2 * x - 3 - side, x)[0] for side in (-7, 7))),
    "math-025": lambda: Integer(12 * 7),
    "math-026": lambda: sqrt(9**2 + 12**2),
    "math-027": lambda: sympy.integrate(2 * pi * x, (x, 0, 5)),
    "math-028": lambda: area(6, 6, 6),
    "math-029": lambda: sympy.integrate(pi * (3 * x / 4) ** 2, (x, 0, 4)),
    "math-030": lambda: Integer(11 * 180 - 360),
    "math-031": lambda: area(13, 15, 14),
    "math-032": lambda: sympy.Point(1, -2).distance(sympy.Point(4, 4)),
    "math-033": lambda: sympy.Line(sympy.Point(2, 1), sympy.Point(5, 10)).slope,
    "math-034": lambda: 6 * (6 * sqrt(3) / sqrt(3)) ** 2,
    "math-035": lambda: sin(pi / 6) + cos(pi / 3),
    "math-036": lambda: sympy.tan(pi / 3),
    "math-037": lambda: sympy.expand_trig(sin(2 * sympy.asin(Rational(3, 5)))),
    "math-038": lambda: Integer(len(list(itertools.permutations("abcde")))),
    "math-039": lambda: Integer(len(list(itertools.combinations(range(8), 3)))),
    "math-040": lambda: Integer(len(set(itertools.permutations("LEVEL")))),
    "math-041": lambda: Integer(sum(len(set(str(v))) == 3 for v in range(100, 1000))),
    "math-042": lambda: Integer(sum(bits.count("U") == 4 for bits in itertools.product("RU", repeat=9))),
    "math-043": lambda: Integer(sum(360 % v == 0 for v in range(1, 361))),
    "math-044": lambda: share(DICE, lambda throw: sum(throw) == 7),
    "math-045": lambda: share(COINS, lambda toss: toss.count("H") == 2),
    "math-046": lambda: share(list(itertools.combinations("RRRBBBBB", 2)), lambda pair: pair == ("R", "R")),
    "math-047": lambda: share(list(range(1, 101)), lambda v: v % 4 == 0 or v % 6 == 0),
    "math-048": lambda: Integer(max(v for v in range(1, 85) if 84 % v == 0 and 126 % v == 0)),
    "math-049": lambda: Integer(next(v for v in range(1, 1000) if v % 12 == 0 and v % 18 == 0)),
    "math-050": lambda: Integer(7**100 % 5),
    "math-051": lambda: Integer(3**2026 % 10),
    "math-052": lambda: Integer(next(v for v in range(1, 100) if v % 3 == 2 and v % 5 == 3)),
    "math-053": lambda: Integer(sum(sympy.primerange(20))),
    "math-054": lambda: Integer(range(5, 1000, 4)[19]),
    "math-055": lambda: Integer(sum(range(1, 100, 2))),
    "math-056": lambda: sympy.summation(Rational(2, 5) ** n, (n, 0, oo)),
    "math-057": lambda: (2 * x**2 - 3 * x + 1).subs(x, -2),
    "math-058": lambda: sympy.solve(3 * y - 4 - x, y)[0],
    "math-059": lambda: sympy.minimum(x**2 - 6 * x + 13, x),
    "math-060": lambda: sympy.diff(x**3 - 5 * x, x),
    "math-061": lambda: sympy.integrate(3 * x**2 + 1, (x, 0, 2)),
    "math-062": lambda: sympy.limit(sin(5 * x) / (2 * x), x, 0),
    "math-063": lambda: sympy.diff(x * exp(x), x),
    "math-064": lambda: sympy.integrate(log(x), (x, 1, sympy.E)),
    "math-065": lambda: sympy.integrate(x - x**2, (x, 0, 1)),
    "math-066": lambda: Matrix([[3, 2], [1, 4]]).det(),
    "math-067": lambda: Matrix([[1, 2], [0, 1]]) * Matrix([[3, 1], [4, 2]]),
    "math-068": lambda: Matrix([2, -1, 3]).dot(Matrix([4, 5, 1])),
    "math-069": lambda: sympy.expand((2 + 3 * I) * (1 - I)),
    "math-070": lambda: sympy.Abs(3 - 4 * I),
    "math-071": lambda: next(
        letter for letter, v in zip("ABCDE", (51, 57, 59, 63, 91), strict=True) if sympy.isprime(v)
    ),
    "math-072": lambda: max(
        zip((Rational(2, 3), Rational("0.65"), Rational(7, 11), Rational(64, 100)), "ABCD", strict=True)
    )[1],
}

PROBLEMS = [json.loads(line) for line in Path(BUNDLED).read_text().splitlines()]


def test_there_are_enough_and_all_are_complete() -> None:
    assert len(PROBLEMS) >= 60
    assert len({problem["id"] for problem in PROBLEMS}) == len(PROBLEMS)
    assert len({problem["prompt"] for problem in PROBLEMS}) == len(PROBLEMS)
    for problem in PROBLEMS:
        assert set(problem) == {"id", "prompt", "answer", "subject", "level", "reference", "wrong"}
        assert problem["level"] in range(1, 6)
        assert len(set(problem["wrong"])) >= 3


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["id"])
def test_the_gold_answer_is_right(problem: dict[str, Any]) -> None:
    computed = COMPUTED[problem["id"]]()
    if isinstance(computed, str):
        assert problem["answer"] == computed
        return
    gold = parse(f"${problem['answer']}$")[0]
    if isinstance(computed, Matrix):
        assert sympy.Matrix(gold) == computed
    elif isinstance(computed, sympy.Set):
        assert sympy.Set.is_subset(gold, computed)
        assert sympy.Set.is_subset(computed, gold)
    elif isinstance(computed, sympy.Tuple):
        assert tuple(gold) == tuple(computed)
    else:
        assert sympy.simplify(plain(gold) - computed) == 0


async def test_references_earn_1_and_wrong_answers_0() -> None:
    env = make("math")
    right = [(env.task_from_record(problem, "?"), problem["reference"]) for problem in PROBLEMS]
    wrong = [(env.task_from_record(problem, "?"), text) for problem in PROBLEMS for text in problem["wrong"]]
    async with Verifier(env) as verifier:
        for (task, text), score in zip(right, await verifier.score_many(right), strict=True):
            assert (score.reward, score.correct) == (1.0, True), f"{task.id}: {text} {score}"
        for (task, text), score in zip(wrong, await verifier.score_many(wrong), strict=True):
            assert (score.reward, score.correct) == (0.0, False), f"{task.id}: {text} {score}"
            assert score.verdict == "wrong", f"{task.id}: {text} {score}"
