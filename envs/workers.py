"""How many things may be done at once on this machine."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))
