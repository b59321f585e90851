"""acidtest: verifiable rewards for code and math, and a GRPO trainer that learns from them."""

from acidtest.envs import (
    Environment,
    PartScore,
    Rubric,
    Score,
    Task,
    UserError,
    Verifier,
    list_environments,
    make,
    register,
)

__all__ = [
    "Environment",
    "PartScore",
    "Rubric",
    "Score",
    "Task",
    "UserError",
    "Verifier",
    "list_environments",
    "make",
    "register",
]
