"""The program in a completion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..parsing import answer_tag, code_blocks, final_part

TAGS = {
    "python": ("python", "py", "python3", "python2", "pypy", "pypy3"),
    "c": ("c", "c11", "c17", "c99"),
    "cpp": ("cpp", "c++", "cc", "cxx", "c++11", "c++14", "c++17", "c++20", "cpp17", "cpp20"),
    "java": ("java",),
    "javascript": ("javascript", "js", "node", "nodejs"),
    "go": ("go", "golang"),
    "rust": ("rust", "rs"),
    "bash": ("bash", "sh", "shell"),
}
"""What a fence may say for each language."""

_LANGUAGE_OF = {tag: language for language, tags in TAGS.items() for tag in tags}

_PLAIN_CODE = {
    "python": re.compile(
        r"(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:]|print\(|@\w|for \w.* in .*:|while .*:|if .*:"
        r"|try:|with .*:|[A-Za-z_]\w*(?:\[.*\])?(?:\s*,\s*\*?[A-Za-z_]\w*)*\s*[-+*/|&]?=[^=]|#!?)"
    ),
    "c": re.compile(r"#\s*include|int main"),
    "cpp": re.compile(r"#\s*include|using namespace|int main"),
    "javascript": re.compile(r"(?:const|let|var|function|require|import)\b|process\.|console\."),
    "java": re.compile(r"import java|public class|class \w+"),
    "go": re.compile(r"package main"),
    "rust": re.compile(r"use std|fn main"),
    "bash": re.compile(r"#!"),
}
"""How the first line of a program begins that is given without a fence."""


@dataclass(frozen=True, slots=True)
class Found:
    """A program and its language."""

    language: str
    source: str


def find_program(completion: str, languages: Sequence[str]) -> Found | None:
    """The last fenced block in one of `languages`, or None.

    Only what follows the reasoning counts, and of that the last `<answer>` where there is one. A fence that is never
    closed runs to the end; one without a tag is taken for the first language, or for the one that it plainly is;
    blocks in other languages (a shell session, sample output) are passed over. Text without any fence is a program
    only when its first line plainly is code.
    """
    text = final_part(completion)
    marked = answer_tag(text)
    if marked is not None:
        text = marked
    blocks = code_blocks(text)
    for tag, source in reversed(blocks):
        language = _LANGUAGE_OF.get(tag) if tag else (_guess(source, languages) or languages[0])
        if language is not None and language in languages and source.strip():
            return Found(language, source)
    if blocks or not text.strip():
        return None
    language = _guess(text, languages)
    return None if language is None else Found(language, text)


def _guess(source: str, languages: Sequence[str]) -> str | None:
    first = next((line for line in source.splitlines() if line.strip()), "")
    return next((language for language in languages if _PLAIN_CODE[language].match(first)), None)
