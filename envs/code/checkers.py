"""Is this output the expected one? Compared here, outside of the sandbox, as text that no program can influence."""

from __future__ import annotations

import math
from collections import Counter

from .spec import StdioTests


def accepts(tests: StdioTests, expected: str, actual: bytes) -> bool:
    """Whether a program's output answers a case.

    tokens: the same words, whatever is between them. lines: the same lines, spaces at their ends and empty lines at
    the end aside. exact: the same bytes. float: as tokens, numbers within abs_tol or rel_tol of the expected one.
    unordered_lines: as lines, in any order. Output that is no UTF-8 is never right.
    """
    if tests.checker == "exact":
        return actual == expected.encode()
    try:
        text = actual.decode()
    except UnicodeDecodeError:
        return False
    if tests.checker == "tokens":
        return text.split() == expected.split()
    if tests.checker == "lines":
        return _lines(text) == _lines(expected)
    if tests.checker == "unordered_lines":
        return Counter(_lines(text)) == Counter(_lines(expected))
    return _close(expected.split(), text.split(), tests.abs_tol, tests.rel_tol)


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _close(expected: list[str], actual: list[str], abs_tol: float, rel_tol: float) -> bool:
    if len(expected) != len(actual):
        return False
    return all(_close_token(one, other, abs_tol, rel_tol) for one, other in zip(expected, actual, strict=True))


def _close_token(expected: str, actual: str, abs_tol: float, rel_tol: float) -> bool:
    if expected == actual:
        return True
    wanted, found = _number(expected), _number(actual)
    if wanted is None or found is None:
        return False
    return abs(wanted - found) <= max(abs_tol, rel_tol * abs(wanted))


def _number(token: str) -> float | None:
    """A finite number in plain notation; `nan`, `inf` and `1_000` are none."""
    if "_" in token:
        return None
    try:
        value = float(token)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
