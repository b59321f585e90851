"""The plain data that everything in envs/ speaks: messages, tasks and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict


class Message(TypedDict):
    """One chat message: role is `system`, `user`, `assistant` or `tool`."""

    role: str
    content: str


Transcript = Sequence[Message]
"""A whole conversation in order: the prompt's messages, then what the model and the environment said."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question; `answer` is the gold one (None where tests decide), `info` the checker's own data."""

    id: str
    prompt: str | Sequence[Message]
    answer: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepScore:
    """A process reward: `reward` holds for the step that ends before character `offset` of the completion."""

    offset: int
    reward: float


@dataclass(frozen=True, slots=True)
class Score:
    """What one completion is worth.

    reward: the weighted sum of the parts; None means *unavailable* (a fault of ours), never a zero.
    parts: each part's unweighted value by name. correct: from the accuracy part alone; None when unavailable
    or when there is no accuracy part. verdict: one word, the environment's own (`correct`, `wrong`,
    `no_answer`, `time_limit`, ...). detail: one sentence for a person, without hidden answers.
    """

    reward: float | None
    parts: Mapping[str, float] = field(default_factory=dict)
    correct: bool | None = None
    verdict: str = ""
    detail: str = ""
    steps: tuple[StepScore, ...] = ()


def last_reply(transcript: Transcript) -> str:
    """The content of the last assistant message, or an empty string when the model said nothing."""
    for message in reversed(transcript):
        if message["role"] == "assistant":
            return message["content"]
    return ""
