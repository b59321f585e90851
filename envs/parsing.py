"""Where the answer stands in a completion."""

from __future__ import annotations

import re

THINK_END = "</think>"
THINK_START = "<think>"

_ANSWER = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)|\\(?:boxed|fbox) +(?=[^\s{])")
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`]*)[^\n`]*$", re.MULTILINE)


def final_part(text: str) -> str:
    """What follows the reasoning: the text after the last `</think>`, or all of it where nothing was reasoned.

    A `<think>` that is never closed leaves nothing: the answer was not reached.
    """
    _, closed, after = text.rpartition(THINK_END)
    if closed:
        return after.partition(THINK_START)[0]
    return text.partition(THINK_START)[0]


def answer_tag(text: str) -> str | None:
    """The content of the last `<answer>…</answer>`, stripped, or None where there is none that is closed."""
    found = _ANSWER.findall(text)
    return found[-1].strip() if found else None


def boxes(text: str) -> list[str]:
    r"""The contents of all outermost `\boxed{…}` and `\fbox{…}`, in order; `\boxed 5` holds one token.

    Braces may nest and `\{` is no brace. A box that is never closed is none.
    """
    found = []
    place = 0
    while match := _BOX.search(text, place):
        start = match.end()
        if text[start] == "{":
            end = _closing_brace(text, start)
            if end is None:
                place = start + 1
                continue
            found.append(text[start + 1 : end].strip())
            place = end + 1
        else:
            token = re.match(r"\\[a-zA-Z]+|\S", text[start:])
            assert token is not None
            found.append(token[0])
            place = start + len(token[0])
    return found


def last_boxed(text: str) -> str | None:
    r"""The content of the last `\boxed{…}`, or None."""
    found = boxes(text)
    return found[-1] if found else None


def code_blocks(text: str) -> list[tuple[str, str]]:
    """(tag, content) of each fenced code block in order; a block whose fence is never closed runs to the end.

    The tag is lower-case and empty where there is none. A closing fence is at least as long as the opening one.
    """
    found = []
    place = 0
    while opening := _FENCE.search(text, place):
        start = min(opening.end() + 1, len(text))
        fence = opening["fence"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(text, start)
        found.append((opening["tag"].lower(), text[start : end.start() if end else len(text)]))
        if end is None:
            break
        place = end.end()
    return found


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    place = start
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 2
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return place
        place += 1
    return None
