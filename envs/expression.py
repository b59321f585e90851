"""Arithmetic expressions over whole numbers, parsed by hand and computed exactly. Nothing is ever evaluated as code."""

from __future__ import annotations

import re
from fractions import Fraction

MAX_LENGTH = 200
"""Characters. Keeps the recursion and the numbers small, whatever a model writes."""

MAX_NUMBER_DIGITS = 9

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+)|(?P<symbol>[-+*/()]))")
_SYNONYMS = str.maketrans(
    {"\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-", "[": "(", "]": ")"}
)


class ExpressionError(ValueError):
    """The text is no expression, or cannot be computed; the message says why."""


def numbers_of(text: str) -> list[int]:
    """The numbers that an expression is written with, in order. Raises ExpressionError for other characters."""
    return [int(token) for token in _tokens(text) if token.isdigit()]


def evaluate(text: str) -> Fraction:
    """The exact value of an expression of whole numbers, + - * / and brackets. Raises ExpressionError."""
    parser = _Parser(_tokens(text))
    value = parser.sum()
    if parser.place < len(parser.tokens):
        raise ExpressionError(f"{parser.tokens[parser.place]!r} is not expected there")
    return value


def _tokens(text: str) -> list[str]:
    text = text.translate(_SYNONYMS).strip()
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"it has {len(text)} characters; at most {MAX_LENGTH} are read")
    tokens = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"{text[place:].strip()[0]!r} has no place in it")
        token = match["number"] or match["symbol"]
        if len(token) > MAX_NUMBER_DIGITS:
            raise ExpressionError("one of its numbers is too long")
        tokens.append(token)
        place = match.end()
    return tokens


class _Parser:
    """Recursive descent: sum -> product -> factor."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.place = 0

    def sum(self) -> Fraction:
        value = self.product()
        while (operator := self.take("+-")) is not None:
            other = self.product()
            value = value + other if operator == "+" else value - other
        return value

    def product(self) -> Fraction:
        value = self.factor()
        while (operator := self.take("*/")) is not None:
            other = self.factor()
            if operator == "*":
                value *= other
            elif other == 0:
                raise ExpressionError("it divides by zero")
            else:
                value /= other
        return value

    def factor(self) -> Fraction:
        if (sign := self.take("+-")) is not None:
            value = self.factor()
            return -value if sign == "-" else value
        if self.take("(") is not None:
            value = self.sum()
            if self.take(")") is None:
                raise ExpressionError("a bracket is not closed")
            return value
        if self.place == len(self.tokens):
            raise ExpressionError("it ends too early")
        token = self.tokens[self.place]
        if not token.isdigit():
            raise ExpressionError(f"{token!r} is not expected there")
        self.place += 1
        return Fraction(int(token))

    def take(self, symbols: str) -> str | None:
        if self.place < len(self.tokens) and self.tokens[self.place] in symbols:
            self.place += 1
            return self.tokens[self.place - 1]
        return None
