"""The final answer of a completion."""

from __future__ import annotations

import re

from ..parsing import answer_tag, boxes, final_part

_PHRASE = re.compile(
    r"(?i)\banswer\b(?:\s+\w+){0,3}?\s*(?:is|are|=|:)\s*:?\s*(?P<answer>[^\n]+)|答案(?:是|为|：|:)\s*(?P<zh>[^\n]+)"
)
_MATH = re.compile(
    r"\$\$(?P<display>.+?)\$\$|\$(?P<inline>[^$\n]+)\$|\\\((?P<round>.+?)\\\)|\\\[(?P<square>.+?)\\\]", re.DOTALL
)
_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")
_JOINED = re.compile(r"[\s$.]*(?:,|;|\band\b|和|或|\bor\b)[\s$,]*")
_CANDIDATES = re.compile(r"(?i)\s\bor\b\s|或")
_END = re.compile(r"(?:[.。!](?=\s|$)).*", re.DOTALL)

MAX_LENGTH = 100_000
"""Of a longer completion only the end is read; an answer stands there."""


def final_answer(completion: str) -> str | None:
    r"""The answer that a completion gives, or None.

    Only what follows the reasoning counts. In this order: the boxes inside the last `<answer>`, or all of it; the
    last `\boxed{}`, with those joined to it by a comma or "and"; what follows "the answer is"; the last formula;
    the last number. A list of candidates ("2 or 3") outside of a box is no answer.
    """
    text = final_part(completion)[-MAX_LENGTH:]
    marked = answer_tag(text)
    if marked is not None:
        return _boxed(marked) or _plain(marked)
    boxed = _boxed(text)
    if boxed is not None:
        return boxed
    phrase = _last_phrase(text)
    return _last_formula(text) if phrase is None else _plain(phrase)


def _boxed(text: str) -> str | None:
    found = boxes(text)
    if not found:
        return None
    # \boxed{1} and \boxed{2} give one answer together; boxes further apart are steps, and the last one counts.
    joined = [found[-1]]
    place = _start_of_box(text, len(text))
    for inner in reversed(found[:-1]):
        before = _start_of_box(text, place)
        gap = text[before + text[before:place].rfind(inner) + len(inner) + 1 : place] if inner else text[before:place]
        if not _JOINED.fullmatch(gap):
            break
        joined.insert(0, inner)
        place = before
    return ", ".join(joined) or None


def _start_of_box(text: str, end: int) -> int:
    return max(text.rfind("\\boxed", 0, end), text.rfind("\\fbox", 0, end))


def _last_phrase(text: str) -> str | None:
    last = None
    for match in _PHRASE.finditer(text):
        last = match
    return None if last is None else last["answer"] or last["zh"]


def _plain(text: str) -> str | None:
    if _CANDIDATES.search(text):
        return None
    formula = _last_match(_MATH, text)
    if formula is not None:
        return formula
    return _END.sub("", text.strip()).strip().strip("*").strip() or None


def _last_formula(text: str) -> str | None:
    formula = _last_match(_MATH, text)
    if formula is not None:
        return formula.rpartition("=")[2].strip() or None
    numbers = _NUMBER.findall(text)
    return numbers[-1].rstrip(",") if numbers else None


def _last_match(pattern: re.Pattern[str], text: str) -> str | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    if last is None:
        return None
    return next(group for group in last.groups() if group is not None).strip() or None
