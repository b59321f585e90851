"""DeepSeek-R1's rule rewards as a ready rubric: accuracy, format, language consistency (DeepSeek-R1, section 2.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from .errors import UserError, unknown_name
from .rubric import PartFunction, Rubric
from .task import Task

Language = Literal["en", "zh"]

R1_WEIGHTS = {"accuracy": 1.0, "format": 0.5, "language": 0.1}

_FORMAT = re.compile(r"\s*<think>(?P<think>.*)</think>\s*<answer>(?P<answer>.*)</answer>\s*", re.DOTALL)
_TAGS = ("<think>", "</think>", "<answer>", "</answer>")
_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|\$\$.*?\$\$|\$[^$\n]*\$|\\\[.*?\\\]|\\\(.*?\\\)"  # mathematics
    r"|\\[a-zA-Z]+"  # LaTeX commands
    r"|</?(?:think|answer)>",
    re.DOTALL,
)


def r1_rubric(
    accuracy: PartFunction, *, language: Language = "en", weights: Mapping[str, float] | None = None
) -> Rubric:
    """Accuracy (1 or 0), `format` (0.5) and `language` (0.1); `weights` replaces those it names.

    Raises UserError for an unknown language or part.
    """
    if language not in {"en", "zh"}:
        raise UserError(unknown_name("language", language, ("en", "zh")))

    def consistent(task: Task, completion: str) -> float:
        return language_consistency(completion, language)

    parts = {"accuracy": accuracy, "format": format_reward, "language": consistent}
    rubric = Rubric({name: (function, R1_WEIGHTS[name]) for name, function in parts.items()})
    return rubric.with_weights(weights or {})


def choose_rubric(
    accuracy: PartFunction, rubric: str = "accuracy", weights: Mapping[str, float] | None = None, language: str = "en"
) -> Rubric:
    """The rubric that an environment's option `rubric` names: `accuracy` alone, or `r1`. Raises UserError."""
    if rubric == "accuracy":
        return Rubric({"accuracy": (accuracy, 1.0)}).with_weights(weights or {})
    if rubric == "r1":
        return r1_rubric(accuracy, language=language, weights=weights)  # type: ignore[arg-type]
    raise UserError(unknown_name("rubric", rubric, ("accuracy", "r1")))


def format_reward(task: Task, completion: str) -> float:
    """1 when the completion is one `<think>…</think>` and one `<answer>…</answer>`, both filled, and nothing else."""
    match = _FORMAT.fullmatch(completion)
    if match is None or any(completion.count(tag) != 1 for tag in _TAGS):
        return 0.0
    return float(bool(match["think"].strip()) and bool(match["answer"].strip()))


def language_consistency(text: str, language: Language) -> float:
    """The share of letters in the expected script: Han for `zh`, Latin for `en`; 1 where there are no letters.

    Code, mathematics, LaTeX commands and the tags are not counted.
    """
    letters = [character for character in _NOT_PROSE.sub(" ", text) if character.isalpha()]
    if not letters:
        return 1.0
    belongs = _is_han if language == "zh" else _is_latin
    return sum(map(belongs, letters)) / len(letters)


_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_LATIN = ((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0x24F), (0x1E00, 0x1EFF))


def _is_han(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _HAN)


def _is_latin(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _LATIN)
