"""Runs untrusted programs in isolated containers."""

from .backends import open_sandbox
from .base import Sandbox, SandboxError
from .outcome import Outcome, Status
from .program import LANGUAGES, Limits, Program

__all__ = ["LANGUAGES", "Limits", "Outcome", "Program", "Sandbox", "SandboxError", "Status", "open_sandbox"]
