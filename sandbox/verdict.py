"""Which status a run earned: the order in which the evidence counts."""

from __future__ import annotations

import signal

from .box import Result
from .languages import Toolchain
from .outcome import Outcome, Status
from .program import Limits

STDERR_TAIL = 4096
"""Where a refused allocation shows: at the end of stderr."""


def outcome_of(result: Result, limits: Limits, found: Toolchain) -> Outcome:
    """Turn what was seen of a run into its outcome."""
    status, detail = _status(result, limits, found)
    return Outcome(
        status,
        result.exit_code if status is not Status.UNAVAILABLE else None,
        result.signal,
        result.stdout,
        result.stderr,
        round(result.cpu_s, 6),
        round(result.wall_s, 6),
        round(max(result.peak_memory_mb, 0.0), 3),
        result.overflow,
        detail,
    )


def _status(result: Result, limits: Limits, found: Toolchain) -> tuple[Status, str]:
    failed = result.exit_code != 0
    out_of_memory = result.memory_killed or result.killed_for == "memory"
    out_of_time = result.killed_for == "cpu" or result.cpu_s > limits.cpu_s or result.signal == signal.SIGXCPU
    refused = found.memory_error is not None and found.memory_error.search(result.stderr[-STDERR_TAIL:]) is not None
    # The first that holds decides. A run that goes over one limit often ends over another (a fork bomb runs out
    # of time), so the limits that end nothing by themselves come first.
    evidence: list[tuple[bool, Status, str]] = [
        (result.overflow, Status.OUTPUT_LIMIT, f"it wrote more than {limits.output_kb} KiB to one of its outputs"),
        (
            result.processes_refused and failed,
            Status.PROCESS_LIMIT,
            f"it tried to have more than {limits.processes} processes and threads",
        ),
        (out_of_memory, Status.MEMORY_LIMIT, f"it used more than {limits.memory_mb} MiB of memory"),
        (
            result.killed_for == "wall",
            Status.TIME_LIMIT,
            f"it was still there after {limits.wall_limit_s:g} s",
        ),
        (out_of_time, Status.TIME_LIMIT, f"it used more than {limits.cpu_s:g} s of CPU time"),
        (result.fault is not None, Status.UNAVAILABLE, _fault(result)),
        (not failed, Status.OK, ""),
        (refused, Status.MEMORY_LIMIT, "an allocation was refused"),
        (result.signal is not None, Status.SIGNALLED, f"it was ended by {_signal_name(result.signal or 0)}"),
    ]
    for holds, status, detail in evidence:
        if holds:
            return status, detail
    return Status.NONZERO_EXIT, f"it exited with {result.exit_code}"


def _fault(result: Result) -> str:
    said = " ".join(result.stderr.decode(errors="replace").split())
    return f"{result.fault}: {said[:500]}" if said else result.fault or ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
