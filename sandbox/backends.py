"""Which backend runs programs."""

from __future__ import annotations

import difflib

from .base import Sandbox, SandboxError
from .bubblewrap import BubblewrapSandbox

BACKENDS = ("auto", "bubblewrap", "docker", "podman", "docker+gvisor")


def open_sandbox(name: str = "auto", *, workers: int | None = None) -> Sandbox:
    """The sandbox called `name`, to be used with `async with`; at most `workers` runs at once (None: one a CPU).

    `auto` takes the strongest backend that works here and says which in `Sandbox.name`; it never falls back to no
    isolation. Raises SandboxError with the remedy where `name` is unknown or cannot be had on this machine.
    """
    if name not in BACKENDS:
        near = difflib.get_close_matches(name, BACKENDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(BACKENDS)}"
        raise SandboxError(f"unknown sandbox {name!r}; {hint}")
    if name not in {"auto", "bubblewrap"}:
        raise SandboxError(f"the sandbox {name!r} is not in this version; take 'bubblewrap'")
    return BubblewrapSandbox(workers)
