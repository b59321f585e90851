"""Worker processes for comparisons that may hang, explode or crash: each is killable, limited and replaced.

Not `multiprocessing`: its fresh processes import the caller's `__main__` again, and its limits know wall time only.
CPU time decides here, so that a loaded machine gives the same verdicts as an idle one.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")

CPU_S = 5.0
"""CPU seconds that one comparison may take; math-verify's own alarm has the same default."""

WALL_S = 120.0
"""Wall-clock seconds after which a worker that uses no CPU is taken for stuck."""

START_S = 120.0
RECYCLE_AFTER = 500
"""Comparisons after which a worker is replaced, because SymPy's caches only grow."""

POLL_S = 0.05
TICK = os.sysconf("SC_CLK_TCK")


class TooExpensive(Exception):
    """The comparison used up its CPU time."""


class WorkerDied(Exception):
    """The worker ended while it compared: out of memory, or killed by someone."""


class WorkerPool:
    """At most `workers` processes, started when they are first needed. Usable from any thread and event loop."""

    def __init__(self, workers: int) -> None:
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="acidtest-math")
        self._closed = False

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """A worker's reply. Raises TooExpensive or WorkerDied."""
        return await asyncio.wrap_future(self._threads.submit(self._ask, request))

    def close(self) -> None:
        """End all workers."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker()
        try:
            reply = worker.ask(request, lambda: self._closed)
        except BaseException:
            worker.end()
            raise
        if worker.served >= RECYCLE_AFTER:
            worker.end()
        else:
            with self._lock:
                self._idle.append(worker)
        return reply


class _Worker:
    def __init__(self) -> None:
        # -P: the folder of worker.py must not come before the standard library on the path.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        self.served = 0
        self._buffer = b""
        self._read_line(time.monotonic() + START_S, None, lambda: False)

    def ask(self, request: dict[str, Any], stopping: Any) -> dict[str, Any]:
        self.served += 1
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise WorkerDied("it was gone before it was asked") from error
        line = self._read_line(time.monotonic() + WALL_S, self._cpu_s() + CPU_S, stopping)
        reply: dict[str, Any] = json.loads(line)
        return reply

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue  # what it was about to be asked no longer matters

    def _read_line(self, deadline: float, cpu_deadline: float | None, stopping: Any) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if selector.select(POLL_S):
                    data = os.read(descriptor, 65536)
                    if not data:
                        raise WorkerDied(f"it ended with exit code {self.process.wait()}")
                    self._buffer += data
                elif cpu_deadline is not None and self._cpu_s() > cpu_deadline:
                    raise TooExpensive
                elif time.monotonic() > deadline or stopping():
                    raise WorkerDied("it did not answer")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _cpu_s(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICK
