"""Programming: programs run in isolation, their output compared outside."""

from .environment import CodeEnvironment, code

__all__ = ["CodeEnvironment", "code"]
