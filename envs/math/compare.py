"""Is this answer that one? Exact where both are plain numbers, else symbolic in a guarded worker."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .exact import exact_number, same_text, strip_name
from .pool import TooExpensive, WorkerDied, WorkerPool

MAX_ANSWER = 2000
"""Characters; no answer of a problem is longer."""

MAX_DEPTH = 60
"""Brackets within brackets."""

_TOWER = re.compile(r"(?:\^|\*\*)[\s{(]*[^\s{()}^]{1,20}?[\s{(]*(?:\^|\*\*)[\s{(]*[^\s{()}^]{1,20}?[\s{(]*(?:\^|\*\*)")
_HUGE = re.compile(r"(?:\^|\*\*)\s*[{(]?\s*-?\d{5,}|\d{5,}\s*[})]?\s*!|\d{1500,}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """verdict: correct, wrong, no_answer, too_complex, undecided, unparsable_gold, unavailable."""

    verdict: str
    detail: str = ""


async def compare(gold: str, answer: str, pool: WorkerPool) -> Comparison:
    """Compare a gold answer with a model's. Never hangs and never raises for what an answer holds."""
    quick = compare_exactly(gold, answer)
    if quick is not None:
        return quick
    reason = too_complex(answer)
    if reason is not None:
        return Comparison("too_complex", f"the answer {reason}")
    died = 0
    while True:
        try:
            reply = await pool.ask({"gold": gold, "answer": answer})
        except TooExpensive:
            return Comparison("undecided", "the comparison used up its CPU time")
        except WorkerDied as error:
            died += 1
            if died == 2:
                # Twice is no accident: an answer that breaks its box is wrong, or it could buy itself out.
                return Comparison("undecided", f"the comparison broke its worker twice: {error}")
        else:
            return Comparison(reply["verdict"])


def compare_exactly(gold: str, answer: str) -> Comparison | None:
    """The verdict where no algebra is needed, else None."""
    if same_text(gold, answer):
        return Comparison("correct")
    left, right = exact_number(strip_name(gold)), exact_number(strip_name(answer))
    if left is None or right is None:
        return None
    return Comparison("correct" if left == right else "wrong")


def too_complex(text: str) -> str | None:
    """Why `text` cannot be the answer of a problem and is not even parsed, or None."""
    if len(text) > MAX_ANSWER:
        return f"has {len(text)} characters; at most {MAX_ANSWER} are read"
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        return f"nests {deepest} brackets; at most {MAX_DEPTH} are read"
    if _TOWER.search(text):
        return "is a tower of powers"
    if _HUGE.search(text):
        return "holds a number too large to be written out"
    return None
