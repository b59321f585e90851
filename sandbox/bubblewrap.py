"""Programs in bubblewrap containers, a fresh one for every run."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Self

from .base import SandboxError
from .box import Job, Result, Run
from .cgroups import Cgroups
from .languages import BINARY, Toolchain, missing, toolchain
from .outcome import Outcome, Status
from .program import Limits, Program
from .verdict import outcome_of

COMPILE_LIMITS = Limits(cpu_s=30, wall_s=90, memory_mb=1024, processes=64, output_kb=256, file_mb=256)
"""What a compiler may use."""

CACHED_BINARIES = 64
INSTALL = "install it with `apt-get install bubblewrap`"


class BubblewrapSandbox:
    """One container per run; at most `workers` at once, by default one for each CPU.

    Raises SandboxError where bubblewrap is missing or cannot make containers.
    """

    name = "bubblewrap"

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._bwrap = find_bwrap()
        self._cgroups = Cgroups()
        self._threads: ThreadPoolExecutor | None = None
        self._running: set[Run] = set()
        self._compiled: OrderedDict[str, asyncio.Task[bytes | Outcome]] = OrderedDict()

    @property
    def level(self) -> str:
        """What enforces the limits of memory, processes and CPU time: `cgroup v2`, `cgroup v1` or `no cgroup`."""
        return self._cgroups.level

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="acidtest-box")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for compiling in self._compiled.values():
            compiling.cancel()
        self._compiled.clear()
        for run in list(self._running):
            run.kill()
        if self._threads is not None:
            threads, self._threads = self._threads, None
            await asyncio.to_thread(threads.shutdown)

    async def run(self, program: Program, limits: Limits | None = None) -> Outcome:
        """Run one program; never raises for what the program does. Cancelling kills the run."""
        limits = limits or Limits()
        found = toolchain(program.language)
        if found is None:
            return Outcome(Status.UNAVAILABLE, detail=missing(program.language))
        binary = b""
        if found.compile is not None:
            compiled = await self._compile(program, found)
            if isinstance(compiled, Outcome):
                return compiled
            binary = compiled
        return outcome_of(await self._execute(_job(program, found, binary), limits), limits, found)

    async def run_many(
        self,
        program: Program,
        stdins: Sequence[bytes],
        limits: Limits | None = None,
        *,
        stop_at_failure: bool = False,
    ) -> list[Outcome]:
        """Run one program once per stdin (compiled once), outcomes in order of `stdins`.

        With `stop_at_failure` the list ends at the first outcome, in order, that is not `ok`.
        """
        running = [asyncio.create_task(self.run(_with_stdin(program, stdin), limits)) for stdin in stdins]
        outcomes: list[Outcome] = []
        try:
            for task in running:
                outcomes.append(await task)
                if stop_at_failure and outcomes[-1].status is not Status.OK:
                    break
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return outcomes

    async def _compile(self, program: Program, found: Toolchain) -> bytes | Outcome:
        """The binary, or the outcome that says why there is none; each source is compiled once."""
        key = _fingerprint(program, found)
        task = self._compiled.get(key)
        if task is None:
            task = asyncio.create_task(self._compile_now(program, found))
            self._compiled[key] = task
            if len(self._compiled) > CACHED_BINARIES:
                self._compiled.popitem(last=False)
        # Shielded, because others may be waiting for the same binary when one of them is cancelled.
        compiled = await asyncio.shield(task)
        if isinstance(compiled, Outcome) and compiled.status is Status.UNAVAILABLE:
            self._compiled.pop(key, None)
        return compiled

    async def _compile_now(self, program: Program, found: Toolchain) -> bytes | Outcome:
        assert found.compile is not None
        name = program.entry or found.source_name
        argv = [part.replace("{source}", name) for part in found.compile]
        files = {**program.files, name: program.source.encode(errors="surrogatepass")}
        result = await self._execute(Job(argv, files, collect=BINARY), COMPILE_LIMITS)
        outcome = outcome_of(result, COMPILE_LIMITS, found)
        if outcome.status is Status.OK:
            return result.collected
        if outcome.status is Status.UNAVAILABLE:
            return outcome
        reason = "" if outcome.status is Status.NONZERO_EXIT else f"the compiler ended as {outcome.status}: "
        message = (outcome.stderr or outcome.stdout).decode(errors="replace").strip()
        return Outcome(
            Status.COMPILE_ERROR,
            outcome.exit_code,
            outcome.signal,
            outcome.stdout,
            outcome.stderr,
            outcome.cpu_s,
            outcome.wall_s,
            outcome.peak_memory_mb,
            outcome.truncated,
            f"{reason}{message[:1000]}" or "the compiler failed without a message",
        )

    async def _execute(self, job: Job, limits: Limits) -> Result:
        if self._threads is None:
            raise RuntimeError("the sandbox is not open; use it inside `async with`")
        run = Run(self._bwrap, self._cgroups, limits)
        self._running.add(run)
        waiting = asyncio.wrap_future(self._threads.submit(_execute, run, job))
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            run.kill()
            # The box is gone within moments; only then is the run over. What it says no longer matters.
            await asyncio.wait([waiting])
            raise
        finally:
            self._running.discard(run)


@cache
def find_bwrap() -> str:
    """The path of a bubblewrap that works here. Raises SandboxError saying what is wrong and what to do."""
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxError(f"bubblewrap is not on this machine, and nothing is run without isolation; {INSTALL}")
    command = [path, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{path} does not answer; try `{' '.join(command)}` by hand") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise SandboxError(
            f"{path} cannot make containers here ({said}); allow unprivileged user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), "
            "or in a container give it the right to make them"
        )
    return path


def _execute(run: Run, job: Job) -> Result:
    if run.cancelled.is_set():
        return Result(fault="cancelled before it began")
    try:
        return run.execute(job)
    except OSError as error:
        # No descriptors, no memory, no process left: ours to mend, and never the program's fault.
        return Result(fault=f"{type(error).__name__}: {error}")


def _job(program: Program, found: Toolchain, binary: bytes) -> Job:
    name = program.entry or found.source_name
    files = dict(program.files)
    if found.compile is not None:
        files[BINARY] = binary
    else:
        files[name] = program.source.encode(errors="surrogatepass")
    argv = [*(part.replace("{source}", name) for part in found.run), *program.args]
    return Job(argv, files, [BINARY] if found.compile else [], program.stdin)


def _with_stdin(program: Program, stdin: bytes) -> Program:
    return Program(program.language, program.source, program.files, program.args, stdin, program.entry)


def _fingerprint(program: Program, found: Toolchain) -> str:
    digest = hashlib.sha256(repr((program.language, found.compile, program.entry)).encode())
    for name, data in sorted({**program.files, "": program.source.encode(errors="surrogatepass")}.items()):
        digest.update(repr((name, len(data))).encode())
        digest.update(data)
    return digest.hexdigest()
