"""One bubblewrap container: the command that starts it, and the life of one run in it.

Synchronous and run in a thread: a container is a process with seven pipes, and threads wait for those more plainly
than an event loop does.
"""

from __future__ import annotations

import fcntl
import json
import marshal
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .cgroups import Cgroup, Cgroups
from .languages import BOX_PATH, python_executable
from .program import Limits

MIB = 2**20
BOX_UID = 65534
"""The uid that programs have, inside and, where we are root, outside too: nobody."""

RUNNER_MB = 16
"""Added to a group's memory limit for the box's own PID 1, which is in the group too."""

RUNNER_RESIDENT_MB = 8
"""What of that is really in use."""

RUNNER_PROCESSES = 1
SLACK_PROCESSES = 16
POLL_S = 0.02
GRACE_S = 5.0
"""How long a killed box may take to disappear before that is a fault of ours."""

REPORT_LIMIT = 64 * 1024
CROWDED = b"crowded\n"
"""Reported as soon as the process limit is reached."""

ENVIRONMENT = {
    "PATH": BOX_PATH,
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "USER": "nobody",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""All that a program sees of an environment."""

_PASSWD = f"nobody:x:{BOX_UID}:{BOX_UID}:nobody:/tmp:/bin/sh\n".encode()


@dataclass(frozen=True, slots=True)
class Job:
    """What happens in the box. collect: a file that is handed out when the program exits with 0."""

    argv: Sequence[str]
    files: Mapping[str, bytes]
    executable: Sequence[str] = ()
    stdin: bytes = b""
    collect: str | None = None


@dataclass(slots=True)
class Result:
    """What came of a job. The program's own report is absent when it was killed from outside."""

    stdout: bytes = b""
    stderr: bytes = b""
    overflow: bool = False
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_mb: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    killed_for: str | None = None
    memory_killed: bool = False
    processes_refused: bool = False
    collected: bytes = b""
    fault: str | None = None


@cache
def inner_source() -> str:
    """The text of `inner.py`."""
    return Path(__file__).with_name("inner.py").read_text(encoding="utf-8")


def bwrap_command(bwrap: str, limits: Limits, *, as_root: bool, descriptors: Mapping[str, int]) -> list[str]:
    """The command line up to the program: what the box contains and what it may do.

    as_root: we are root, so the user namespace gets two uids (ours for PID 1, `BOX_UID` for programs); otherwise
    it has one, and cannot make further ones.
    """
    command = [bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1"]
    command += ["--hostname", "box", "--info-fd", str(descriptors["info"]), "--cap-drop", "ALL"]
    if as_root:
        command += ["--uid", "0", "--gid", "0", "--userns-block-fd", str(descriptors["block"])]
        for capability in ("SETUID", "SETGID", "KILL", "SYS_RESOURCE", "SYS_PTRACE"):
            command += ["--cap-add", f"CAP_{capability}"]
    else:
        command += ["--uid", str(BOX_UID), "--gid", str(BOX_UID), "--block-fd", str(descriptors["block"])]
        command += ["--disable-userns"]
    command += [*_system(), "--ro-bind-data", str(descriptors["passwd"]), "/etc/passwd"]
    command += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):
        command += ["--perms", "1777", "--size", str(int(limits.file_mb * MIB)), "--tmpfs", folder]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    return command


def _system() -> list[str]:
    """The read-only system: /usr, its links, the interpreter, and the two files of /etc that linking needs."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    arguments += _folders("/etc/passwd")
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        arguments += ["--ro-bind-try", name, name]
    prefix = os.path.realpath(sys.base_prefix)
    if not prefix.startswith("/usr"):
        for place in dict.fromkeys([prefix, sys.base_prefix]):
            arguments += [*_folders(place), "--ro-bind", prefix, place]
    return arguments


def _folders(path: str) -> list[str]:
    """Make the folders above `path`, open to everyone; bubblewrap's own would be closed to the program's uid."""
    arguments = []
    for folder in reversed(Path(path).parents[:-1]):
        arguments += ["--perms", "0755", "--dir", str(folder)]
    return arguments


@dataclass(slots=True, eq=False)
class Run:
    """One job in one fresh container. `execute` may be called once; `kill` from any thread, at any time."""

    bwrap: str
    cgroups: Cgroups
    limits: Limits
    cancelled: threading.Event = field(default_factory=threading.Event)
    _pidfd: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def kill(self) -> None:
        """End the run now."""
        self.cancelled.set()
        self._kill_box()

    def execute(self, job: Job) -> Result:
        """Run `job` and clean up. Raises nothing for what the program does."""
        result = Result()
        group = self.cgroups.create(
            int((self.limits.memory_mb + RUNNER_MB) * MIB), int(self.limits.processes) + RUNNER_PROCESSES
        )
        try:
            with ExitStack() as stack:
                self._run(job, group, result, stack)
        finally:
            if group is not None:
                group.remove()
        return result

    def _run(self, job: Job, group: Cgroup | None, result: Result, stack: ExitStack) -> None:
        as_root = os.geteuid() == 0
        ours, theirs = _pipes(stack, ("info", "report"), ("block",))
        theirs["job"] = _memfd(stack, self._job_bytes(job, watch=group is None, as_root=as_root))
        theirs["passwd"] = _memfd(stack, _PASSWD)
        stdin = _memfd(stack, job.stdin)
        stack.callback(os.close, stdin)
        command = bwrap_command(self.bwrap, self.limits, as_root=as_root, descriptors=theirs)
        runner = [python_executable(), "-I", "-S", "-c", inner_source(), str(theirs["job"]), str(theirs["report"])]
        started = time.monotonic()
        process = subprocess.Popen(
            [*command, "--", *runner],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=list(theirs.values()),
            env={},
        )
        stack.callback(_end, process)
        _close_all(theirs)
        report = bytearray()
        if self._admit(ours, group, as_root):
            self._watch(process, {ours["report"]: report}, group, result)
        else:
            assert process.stderr is not None
            result.stderr = process.stderr.read(REPORT_LIMIT)
        self._wait(process)
        result.wall_s = time.monotonic() - started
        _read_report(bytes(report), result)
        if group is not None:
            _read_group(group, result)

    def _admit(self, ours: dict[str, int], group: Cgroup | None, as_root: bool) -> bool:
        """Put the waiting box where it belongs and let it go on; False when it did not come up."""
        pid = _child_pid(ours["info"])
        if pid is None:
            return False
        pidfd = os.pidfd_open(pid)
        with self._lock:
            self._pidfd = pidfd
        if group is not None:
            group.add(pid)
        if as_root:
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{pid}/{name}").write_text(f"0 0 1\n{BOX_UID} {BOX_UID} 1\n")
        if self.cancelled.is_set():
            self._kill_box()
        os.write(ours["block"], b"\0")
        return True

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        reports: Mapping[int, bytearray],
        group: Cgroup | None,
        result: Result,
    ) -> None:
        """Drain everything until the box is gone, ending it where it goes over a limit."""
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = bytearray(), bytearray()
        most = int(self.limits.output_kb * 1024)
        buffers = {process.stdout.fileno(): out, process.stderr.fileno(): err, **reports}
        end = time.monotonic() + self.limits.wall_limit_s
        with selectors.DefaultSelector() as selector:
            for descriptor in buffers:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(POLL_S):
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fd)
                    elif len(buffer := buffers[key.fd]) <= most or key.fd in reports:
                        buffer += data
                if result.killed_for is not None:
                    if time.monotonic() > end + GRACE_S:
                        break
                    continue
                if max(len(out), len(err)) > most:
                    result.killed_for = "output"
                elif time.monotonic() > end:
                    result.killed_for = "wall"
                elif group is not None and group.cpu_s() > self.limits.cpu_s + RUNNER_CPU_S:
                    result.killed_for = "cpu"
                if result.killed_for is not None:
                    end = time.monotonic()
                    self._kill_box()
        result.overflow = max(len(out), len(err)) > most
        result.stdout, result.stderr = bytes(out[:most]), bytes(err[:most])

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """bubblewrap goes when the box's last process has gone."""
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._kill_box()
            process.kill()
            process.wait()
        finally:
            with self._lock:
                if self._pidfd is not None:
                    os.close(self._pidfd)
                    self._pidfd = None

    def _kill_box(self) -> None:
        """Kill the box's PID 1, and with it, by the kernel's rule, every process in the box."""
        with self._lock:
            if self._pidfd is not None:
                try:
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
                except ProcessLookupError:
                    return

    def _job_bytes(self, job: Job, *, watch: bool, as_root: bool) -> bytes:
        limits = self.limits
        content: dict[str, Any] = {
            "argv": list(job.argv),
            "files": dict(job.files),
            "executable": list(job.executable),
            "env": ENVIRONMENT,
            "folder": "/tmp",
            "uid": BOX_UID if as_root else None,
            "watch": watch,
            "collect": job.collect,
            "limits": {
                "cpu": float(limits.cpu_s),
                "memory": int(limits.memory_mb * MIB),
                "processes": int(limits.processes),
                # Where a group counts, it alone must say no: it keeps evidence of that.
                "nproc": int(limits.processes) + RUNNER_PROCESSES + (0 if watch else SLACK_PROCESSES),
                "file": int(limits.file_mb * MIB),
                "stack": int(limits.stack_mb * MIB),
            },
        }
        return marshal.dumps(content)


RUNNER_CPU_S = 0.1
"""What the box's PID 1 may use on top of the program's CPU limit before it has said how much that was."""


def _pipes(stack: ExitStack, reading: Sequence[str], writing: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """One pipe a name: our ends and the box's ends; all are closed with `stack`."""
    ours: dict[str, int] = {}
    theirs: dict[str, int] = {}
    for name in (*reading, *writing):
        read, write = os.pipe()
        ours[name], theirs[name] = (read, write) if name in reading else (write, read)
        stack.callback(os.close, ours[name])
    stack.callback(_close_all, theirs)
    return ours, theirs


def _close_all(descriptors: dict[str, int]) -> None:
    while descriptors:
        os.close(descriptors.popitem()[1])


def _memfd(stack: ExitStack, data: bytes) -> int:
    """A read-only descriptor of `data`, which no one can change any more."""
    descriptor = os.memfd_create("acidtest", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(descriptor)


def _child_pid(info_fd: int) -> int | None:
    text = b""
    while data := os.read(info_fd, 4096):
        text += data
        if text.rstrip().endswith(b"}"):
            return int(json.loads(text)["child-pid"])
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever happened, no bubblewrap outlives its run."""
    if process.poll() is None:
        process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _read_report(report: bytes, result: Result) -> None:
    if report.startswith(CROWDED):
        result.processes_refused = True
        report = report.removeprefix(CROWDED)
    line, newline, payload = report.partition(b"\n")
    words = line.decode(errors="replace").split()
    if not newline or not words:
        if result.killed_for is None:
            result.fault = "the box ended without a report"
        return
    if words[0] == "failed":
        result.fault = f"the program could not be started: {' '.join(words[1:])}"
        return
    code = int(words[0])
    result.exit_code, result.signal = (code, None) if code >= 0 else (None, -code)
    result.cpu_s = float(words[1])
    result.peak_memory_mb = int(words[3]) / 1024
    if words[4] != "-":
        result.killed_for = words[4]
    result.collected = payload


def _read_group(group: Cgroup, result: Result) -> None:
    if not result.cpu_s:
        result.cpu_s = group.cpu_s()
    result.peak_memory_mb = max(result.peak_memory_mb, group.peak_memory_mb() - RUNNER_RESIDENT_MB)
    result.memory_killed = group.memory_kills() > 0
    result.processes_refused = result.processes_refused or group.process_refusals() > 0
