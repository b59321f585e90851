"""The bundled problems: every expected output is computed again by another algorithm, and all programs are run."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from acidtest.envs import Verifier, make
from acidtest.envs.code.checkers import accepts
from acidtest.envs.code.environment import BUNDLED
from acidtest.envs.code.spec import code_spec

PROBLEMS = [json.loads(line) for line in Path(BUNDLED).read_text().splitlines()]


def numbers(text: str) -> list[int]:
    return list(map(int, text.split()))


def rows(text: str) -> list[list[int]]:
    """All lines after the first as lists of numbers."""
    return [numbers(line) for line in text.splitlines()[1:]]


def palindrome(text: str) -> str:
    kept = re.sub(r"[^a-z0-9]", "", text.lower())
    half = len(kept) // 2
    return "YES" if all(kept[i] == kept[-1 - i] for i in range(half)) else "NO"


def gcd(text: str) -> int:
    values = numbers(text)[1:]
    return max(d for d in divisors(min(values)) if all(value % d == 0 for value in values))


def divisors(value: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(value) + 1) if value % d == 0]
    return small + [value // d for d in small]


def primes(text: str) -> int:
    def is_prime(value: int) -> bool:
        return value > 1 and all(value % d for d in range(2, math.isqrt(value) + 1))

    return sum(map(is_prime, range(int(text) + 1)))


def best_stretch(text: str) -> int:
    sums = [0, *itertools.accumulate(numbers(text)[1:])]
    highest, best = None, None
    for after in reversed(sums):
        if highest is not None:
            best = highest - after if best is None else max(best, highest - after)
        highest = after if highest is None else max(highest, after)
    assert best is not None
    return best


def rising(text: str) -> int:
    values = numbers(text)[1:]
    best: list[int] = []
    for i, value in enumerate(values):
        best.append(1 + max((best[j] for j in range(i) if values[j] < value), default=0))
    return max(best)


def coins(text: str) -> int:
    amount, *values = numbers(text)
    reached, count = {0}, 0
    seen = {0}
    while reached:
        if amount in reached:
            return count
        reached = {a + c for a in reached for c in values if a + c <= amount} - seen
        seen |= reached
        count += 1
    return -1


def balanced(text: str) -> str:
    rest = text.strip()
    while (shorter := rest.replace("()", "").replace("[]", "").replace("{}", "")) != rest:
        rest = shorter
    return "NO" if rest else "YES"


def pairs(text: str) -> int:
    _, wanted, *values = numbers(text)
    return sum(a + b == wanted for a, b in itertools.combinations(values, 2))


def spiral(text: str) -> str:
    (height, width), matrix = numbers(text.splitlines()[0]), rows(text)
    seen: set[tuple[int, int]] = set()
    out, y, x, dy, dx = [], 0, 0, 0, 1
    for _ in range(height * width):
        out.append(matrix[y][x])
        seen.add((y, x))
        if not (0 <= y + dy < height and 0 <= x + dx < width) or (y + dy, x + dx) in seen:
            dy, dx = dx, -dy
        y, x = y + dy, x + dx
    return " ".join(map(str, out))


def maze(text: str) -> int:
    lines = text.splitlines()
    height, width = numbers(lines[0])
    free = {(y, x) for y in range(height) for x in range(width) if lines[1 + y][x] == "."}
    distance = {cell: 0 if cell == (0, 0) else height * width for cell in free}
    changed = True
    while changed:
        changed = False
        for y, x in free:
            near = min(
                (distance[c] for c in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)) if c in free),
                default=height * width,
            )
            if near + 1 < distance[y, x]:
                distance[y, x] = near + 1
                changed = True
    found = distance[height - 1, width - 1]
    return -1 if found >= height * width else found


def islands(text: str) -> int:
    count = numbers(text)[0]
    near: dict[int, set[int]] = {v: set() for v in range(1, count + 1)}
    for a, b in rows(text):
        near[a].add(b)
        near[b].add(a)
    left, found = set(near), 0
    while left:
        found += 1
        stack = [left.pop()]
        while stack:
            fresh = near[stack.pop()] & left
            left -= fresh
            stack += fresh
    return found


def knapsack(text: str) -> int:
    _, capacity = numbers(text.splitlines()[0])
    best = {0: 0}
    for weight, value in rows(text):
        for total, worth in list(best.items()):
            if total + weight <= capacity:
                best[total + weight] = max(best.get(total + weight, 0), worth + value)
    return max(best.values())


def edits(text: str) -> int:
    one, other = text.split()

    @functools.cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        if one[i - 1] == other[j - 1]:
            return distance(i - 1, j - 1)
        return 1 + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))

    for i in range(0, len(one), 20):
        distance(i, len(other))
    return distance(len(one), len(other))


def roman(text: str) -> int:
    parts = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40}
    parts |= {"X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}

    def write(value: int) -> str:
        out = ""
        for name, worth in parts.items():
            while value >= worth:
                out, value = out + name, value - worth
        return out

    return next(value for value in range(1, 4000) if write(value) == text.strip())


def other_base(text: str) -> str:
    value, base = numbers(text)
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    power = 1
    while power * base <= value:
        power *= base
    out = ""
    while power:
        out, value, power = out + digits[value // power], value % power, power // base
    assert int(out, base) == numbers(text)[0]
    return out


def covered(text: str) -> int:
    return len({unit for low, high in rows(text) for unit in range(low, high)})


def median(text: str) -> float:
    values = numbers(text)[1:]

    def smallest(rank: int) -> int:
        return next(v for v in values if sum(w < v for w in values) <= rank < sum(w <= v for w in values))

    return float(Fraction(smallest((len(values) - 1) // 2) + smallest(len(values) // 2), 2))


def polygon(text: str) -> float:
    """By trapezoids under each edge."""
    corners = rows(text)
    ends = [*corners[1:], corners[0]]
    area = sum(Fraction(b - a, 1) * Fraction(y + z, 2) for (a, y), (b, z) in zip(corners, ends, strict=True))
    return float(abs(area))


def anagrams(text: str) -> str:
    words = text.split()[1:]
    counted = [(Counter(word), word) for word in words]
    groups = {tuple(sorted(other for count, other in counted if count == own)) for own, _ in counted}
    return "\n".join(" ".join(group) for group in groups)


def orders(text: str) -> str:
    def arrange(letters: str) -> list[str]:
        if not letters:
            return [""]
        return [letter + rest for i, letter in enumerate(letters) for rest in arrange(letters[:i] + letters[i + 1 :])]

    return "\n".join(arrange(text.strip()))


def calculate(text: str) -> int:
    """By rewriting: the innermost bracket first, products before sums."""
    text = text.replace(" ", "").strip()

    def flat(part: str) -> int:
        terms = re.findall(r"(?:^|(?<=[\d])[-+])(?:-?\d+)(?:\*-?\d+)*", part)
        assert "".join(terms) == part, part
        return sum(
            (-1 if term.startswith("-") and i else 1) * math.prod(map(int, (term[1:] if i else term).split("*")))
            for i, term in enumerate(terms)
        )

    while match := re.search(r"\(([^()]*)\)", text):
        text = text[: match.start()] + str(flat(match[1])) + text[match.end() :]
    return flat(text)


def robot(text: str) -> str:
    place, heading = 0 + 0j, 1j
    for letter in text.strip():
        if letter == "F":
            place += heading
        else:
            heading *= 1j if letter == "L" else -1j
    return f"{int(place.real)} {int(place.imag)}"


def caesar(text: str) -> str:
    first, line = text.splitlines()
    low = "abcdefghijklmnopqrstuvwxyz"
    shift = int(first) % 26
    moved = low[shift:] + low[:shift]
    return line.translate(str.maketrans(low + low.upper(), moved + moved.upper()))


def leap_years(text: str) -> int:
    low, high = numbers(text)
    return sum(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) for year in range(low, high + 1))


def without_repeats(text: str) -> int:
    line = text.strip()
    best = 0
    for start in range(len(line)):
        seen: set[str] = set()
        for letter in line[start:]:
            if letter in seen:
                break
            seen.add(letter)
        best = max(best, len(seen))
    return best


def frequent(text: str) -> str:
    words = text.split()
    ranked = sorted({(-words.count(word), word) for word in words})
    return "\n".join(f"{word} {-count}" for count, word in ranked)


def cheapest(text: str) -> int:
    """Bellman and Ford."""
    count = numbers(text)[0]
    cost = {1: 0}
    for _ in range(count):
        for a, b, c in rows(text):
            if a in cost:
                cost[b] = min(cost.get(b, cost[a] + c), cost[a] + c)
    return cost.get(count, -1)


def rooms(text: str) -> int:
    meetings = rows(text)
    return max(sum(low <= start < high for low, high in meetings) for start, _ in meetings)


def one_trade(text: str) -> int:
    prices = numbers(text)[1:]
    return max([0, *(max(prices[i:]) - price for i, price in enumerate(prices))])


def josephus(text: str) -> int:
    count, step = numbers(text)
    people = list(range(1, count + 1))
    place = 0
    while len(people) > 1:
        place = (place + step - 1) % len(people)
        people.pop(place)
    return people[0]


def fibonacci(text: str) -> int:
    """By powers of the matrix [[1, 1], [1, 0]]."""
    n, m = numbers(text)

    def times(p: list[int], q: list[int]) -> list[int]:
        a, b, c, d = p
        e, f, g, h = q
        return [(a * e + b * g) % m, (a * f + b * h) % m, (c * e + d * g) % m, (c * f + d * h) % m]

    result, power = [1, 0, 0, 1], [1, 1, 1, 0]
    while n:
        if n % 2:
            result = times(result, power)
        power = times(power, power)
        n //= 2
    return result[1] % m


BRUTE_FORCE: dict[str, Callable[[str], object]] = {
    "Sum of a list": lambda text: functools.reduce(lambda total, value: total + value, numbers(text)[1:]),
    "Words in reverse": lambda text: " ".join(text.split()[::-1]),
    "Vowels": lambda text: len(re.findall("[aeiouAEIOU]", text)),
    "Palindrome": palindrome,
    "Greatest common divisor": gcd,
    "Counting primes": primes,
    "Best stretch": best_stretch,
    "Longest rising subsequence": rising,
    "Fewest coins": coins,
    "Brackets": balanced,
    "Pairs with a sum": pairs,
    "Spiral": spiral,
    "Maze": maze,
    "Islands": islands,
    "Knapsack": knapsack,
    "Edit distance": edits,
    "Run lengths": lambda text: "".join(f"{run[0][0]}{len(run[0])}" for run in re.findall(r"((.)\2*)", text.strip())),
    "Roman numerals": roman,
    "Another base": other_base,
    "Covered length": covered,
    "Median": median,
    "Area of a polygon": polygon,
    "Anagrams": anagrams,
    "All orders": orders,
    "The odd one out": lambda text: next(v for v, k in Counter(numbers(text)[1:]).items() if k == 1),
    "Calculator": calculate,
    "Robot": robot,
    "Caesar": caesar,
    "Leap years": leap_years,
    "Without repeats": without_repeats,
    "Frequent words": frequent,
    "Cheapest way": cheapest,
    "Meeting rooms": rooms,
    "One trade": one_trade,
    "Josephus": josephus,
    "Fibonacci numbers": fibonacci,
}


def title(problem: dict[str, Any]) -> str:
    return str(problem["prompt"].partition(". ")[0])


def test_there_are_enough_and_all_are_complete() -> None:
    assert len(PROBLEMS) >= 30
    assert (
        len({problem["id"] for problem in PROBLEMS}) == len({title(problem) for problem in PROBLEMS}) == len(PROBLEMS)
    )
    for problem in PROBLEMS:
        cases = problem["tests"]["cases"]
        assert len({case["input"] for case in cases}) == len(cases) >= 8
        assert len(set(problem["wrong"])) >= 3
        assert ("reference_cpp" in problem) == ("cpp" in problem["language"])


@pytest.mark.parametrize("problem", PROBLEMS, ids=title)
def test_expected_outputs_are_right(problem: dict[str, Any]) -> None:
    tests = code_spec(make("code").task_from_record(problem, "?")).tests
    for case in tests.cases:
        assert accepts(tests, case.output, str(BRUTE_FORCE[title(problem)](case.input)).encode()), case.input[:200]


@pytest.mark.parametrize("field", ["reference", "reference_cpp"])
async def test_references_earn_1(field: str) -> None:
    env = make("code")
    items = [(env.task_from_record(p, "?"), p[field]) for p in PROBLEMS if field in p]
    async with Verifier(env) as verifier:
        for (task, _), score in zip(items, await verifier.score_many(items), strict=True):
            assert (score.reward, score.correct, score.verdict) == (1.0, True, "accepted"), f"{task.id} {score}"


async def test_wrong_programs_earn_0() -> None:
    env = make("code")
    items = [(env.task_from_record(p, "?"), text) for p in PROBLEMS for text in p["wrong"]]
    async with Verifier(env) as verifier:
        for (task, text), score in zip(items, await verifier.score_many(items), strict=True):
            assert (score.reward, score.correct) == (0.0, False), f"{task.id} {text} {score}"
            assert score.verdict in {"wrong_answer", "runtime_error", "time_limit"}, f"{task.id} {text} {score}"
