"""Numbers compared exactly and at once, without a computer algebra system."""

from __future__ import annotations

import re
from fractions import Fraction

_SPACING = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle)(?![a-zA-Z])|[\s$~]|\\text(?:rm|bf|it)?\{\s*\}")
_FRACTION = re.compile(r"\\[dtc]?frac(?:\{(?P<a>-?[\d.]+)\}|(?P<c>\d))(?:\{(?P<b>-?[\d.]+)\}|(?P<d>\d))")
_NUMBER = r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+|\d+)?(?:\.\d*)?"
_PLAIN = re.compile(rf"(?P<sign>[-+]*)(?P<a>{_NUMBER})(?:/(?P<b>{_NUMBER}))?")
_ASSIGNED = re.compile(r"^[a-zA-Z]=(?!=)")

MAX_DIGITS = 400


def exact_number(text: str) -> Fraction | None:
    r"""`text` as an exact number where it is written as one: 3, -1,000, 2.50, 3/4, \frac{3}{4}; else None.

    Anything longer than MAX_DIGITS is left to the guarded workers.
    """
    if len(text) > MAX_DIGITS:
        return None
    bare = _SPACING.sub("", text.strip()).replace("\u2212", "-").rstrip(".") or text.strip()
    bare = _FRACTION.sub(_slash, bare)
    match = _PLAIN.fullmatch(bare)
    if match is None:
        return None
    above, below = _decimal(match["a"]), _decimal(match["b"]) if match["b"] is not None else Fraction(1)
    if above is None or not below:
        return None
    return -above / below if match["sign"].count("-") % 2 else above / below


def same_text(one: str, other: str) -> bool:
    """Whether two answers are written the same, spacing aside."""
    return _SPACING.sub("", one) == _SPACING.sub("", other)


def strip_name(text: str) -> str:
    """`x = 5` -> `5`: a single letter on the left of an equation only names the answer."""
    return _ASSIGNED.sub("", _SPACING.sub("", text))


def _slash(match: re.Match[str]) -> str:
    return f"{match['a'] or match['c']}/{match['b'] or match['d']}"


def _decimal(text: str) -> Fraction | None:
    digits = text.replace("{,}", "").replace(",", "")
    return Fraction(digits) if re.search(r"\d", digits) else None
