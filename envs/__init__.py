"""Verifiable environments: what is asked, and what an answer is worth."""

from . import arithmetic as _arithmetic  # noqa: F401  registers itself
from . import code as _code  # noqa: F401  registers itself
from . import countdown as _countdown  # noqa: F401  registers itself
from . import math as _math  # noqa: F401  registers itself
from .environment import Environment
from .errors import UserError
from .registry import list_environments, make, register
from .rubric import PartScore, Rubric
from .task import Message, Score, StepScore, Task, Transcript
from .verifier import Verifier

__all__ = [
    "Environment",
    "Message",
    "PartScore",
    "Rubric",
    "Score",
    "StepScore",
    "Task",
    "Transcript",
    "UserError",
    "Verifier",
    "list_environments",
    "make",
    "register",
]
