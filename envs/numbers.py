"""Reads one number out of plain text."""

from __future__ import annotations

import re
from fractions import Fraction

from .parsing import answer_tag, final_part, last_boxed

_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\uff0d": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_SEPARATOR = r"(?:,|\{,\}|\\,|\\!)"
_NUMBER = rf"(?:\d{{1,3}}(?:{_SEPARATOR}\d{{3}})+(?!\d)|\d+)(?:\.\d+)?"
_ANY = re.compile(rf"(?<![\d.]){_NUMBER}")
_LIST = re.compile(r"\d\s*(?:,|;|/|\bor\b|\band\b)\s*[-+]?\s*$")
_ONLY = re.compile(rf"(?P<sign>[-+]?) *(?P<number>{_NUMBER})\.?")

LOOK_BACK = 40
"""Characters before a number that can make it one of a list, or negative."""

MAX_DIGITS = 1000
"""Longer numbers are no answer to arithmetic; Python's own limit on digits never comes into play."""


def final_number(completion: str) -> Fraction | None:
    r"""The one number that a completion answers: in `<answer>`, else in the last `\boxed{}`, else the last one.

    Only what follows the reasoning counts. A list of candidates ("12 or 13") is no answer.
    """
    text = final_part(completion)
    marked = answer_tag(text)
    inner = last_boxed(text if marked is None else marked)
    if inner is not None:
        marked = inner
    if marked is not None:
        return only_number(marked)
    return _last_number(text.translate(_MINUS))


def only_number(text: str) -> Fraction | None:
    """The number that `text` consists of, possibly as the right side of an equation; None for anything else."""
    right = text.translate(_MINUS).rpartition("=")[2]
    match = _ONLY.fullmatch(right.strip().strip("$").strip())
    return _value(match["sign"], match["number"]) if match else None


def _last_number(text: str) -> Fraction | None:
    last = None
    for match in _ANY.finditer(text):
        last = match
    if last is None:
        return None
    before = text[max(0, last.start() - LOOK_BACK) : last.start()]
    if _LIST.search(before):
        return None
    return _value("-" if _is_negative(before) else "", last[0])


def _is_negative(before: str) -> bool:
    """Whether `before` ends in a sign rather than in the minus of a difference such as `7 - 5`."""
    bare = before.rstrip(" ")
    if not bare.endswith("-"):
        return False
    left = bare[:-1]
    return not (left.rstrip(" ")[-1:].isdigit() or left.rstrip(" ")[-1:] in {")", "]"} or left[-1:].isalpha())


def _value(sign: str, number: str) -> Fraction | None:
    digits = re.sub(_SEPARATOR, "", number)
    if len(digits) > MAX_DIGITS:
        return None
    return Fraction(f"{sign}{digits}")
