"""Runs inside the box as its PID 1: starts the program under its limits, waits, reports.

Given to the box's interpreter as text, so it imports nothing of ours, and little of the standard library because
every run pays for it. The program runs under another uid, or cannot trace this process, and its end of the report
pipe is closed before it starts: what is reported is ours alone.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import marshal
import os
import resource
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KILL = 9
PR_SET_DUMPABLE = 4
POLL_S = 0.01
FAILED_FD = 3


def main() -> None:
    """argv: the descriptors of the job (read) and of the report (written)."""
    job_fd, report_fd = int(sys.argv[1]), int(sys.argv[2])
    with open(job_fd, "rb") as file:
        job = marshal.load(file)
    guard(job)
    failed_read, failed_write = os.pipe()
    child = os.fork()
    if child == 0:
        if failed_write != FAILED_FD:
            os.dup2(failed_write, FAILED_FD, inheritable=False)
        try:
            start(job)
        except BaseException as error:
            os.write(FAILED_FD, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.close(failed_write)
    failure = os.read(failed_read, 4096)
    status, reason, peak_kb = wait(child, job, report_fd)
    kill_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    words = [
        str(os.waitstatus_to_exitcode(status)),
        f"{usage.ru_utime + usage.ru_stime:.6f}",
        f"{own.ru_utime + own.ru_stime:.6f}",
        str(max(peak_kb, usage.ru_maxrss)),
        reason,
    ]
    text = f"failed {failure.decode(errors='replace')}" if failure else " ".join(words)
    payload = b"" if failure or status or not job["collect"] else collect(job["collect"], job["limits"]["file"])
    write_all(report_fd, text.encode() + b"\n" + payload)


def guard(job: dict[str, Any]) -> None:
    """Make this process out of the program's reach."""
    if job["uid"] is None:
        import ctypes  # noqa: PLC0415  (slow, and only needed where the program has our own uid)

        if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
            raise OSError("prctl(PR_SET_DUMPABLE) failed")
    else:
        with open("/proc/sys/user/max_user_namespaces", "w") as file:
            file.write("0")


def start(job: dict[str, Any]) -> None:
    """Become the program. Only returns by raising."""
    os.setsid()
    os.closerange(FAILED_FD + 1, 4096)
    if job["uid"] is not None:
        os.setgroups([])
        os.setresgid(job["uid"], job["uid"], job["uid"])
        os.setresuid(job["uid"], job["uid"], job["uid"])
    os.umask(0o022)
    os.chdir(job["folder"])
    for name, data in job["files"].items():
        folder = os.path.dirname(name)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(name, "wb") as file:
            file.write(data)
    for name in job["executable"]:
        os.chmod(name, 0o755)
    limit(job["limits"])
    # Python ignores these; a program must find them as a shell would leave them.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    os.execvpe(job["argv"][0], job["argv"], job["env"])


def limit(limits: dict[str, int]) -> None:
    """Set resource limits; the CPU limit is a backstop behind the check of the whole tree."""
    cpu = int(limits["cpu"]) + 1
    wanted = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: limits["file"],
        resource.RLIMIT_STACK: limits["stack"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 1024,
        resource.RLIMIT_MEMLOCK: 1 << 20,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_NPROC: limits["nproc"],
    }
    for name, value in wanted.items():
        soft, hard = value if isinstance(value, tuple) else (value, value)
        _, most = resource.getrlimit(name)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(name, (soft, hard))


def wait(child: int, job: dict[str, Any], report_fd: int) -> tuple[int, str, int]:
    """(wait status of the program, why we killed it or "-", peak KiB).

    That the process limit was reached is reported at once, because this process may not live to say it later.
    """
    reason, peak_kb, crowded = "-", 0, False
    limits = job["limits"]
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG if job["watch"] else 0)
        if pid == child:
            return status, reason, peak_kb
        if pid or not job["watch"] or reason != "-":
            continue
        memory_kb, cpu_s, count = survey(limits["memory"] // 1024)
        peak_kb = max(peak_kb, memory_kb)
        if count >= limits["processes"] and not crowded:
            crowded = True
            os.write(report_fd, b"crowded\n")
        if memory_kb * 1024 > limits["memory"]:
            reason = "memory"
        elif cpu_s > limits["cpu"]:
            reason = "cpu"
        if reason != "-":
            os.kill(-1, KILL)
        time.sleep(POLL_S)


def survey(memory_limit_kb: int) -> tuple[int, float, int]:
    """(KiB of memory, CPU seconds, threads) of everything in the box but this process; for boxes without a cgroup."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    disks = [os.statvfs(folder) for folder in ("/tmp", "/dev/shm")]
    files = sum((disk.f_blocks - disk.f_bfree) * disk.f_frsize // 1024 for disk in disks)
    memory = files + sum(field(f"/proc/{pid}/status", "RssAnon:") for pid in pids)
    if memory > memory_limit_kb:
        # Pages that forked processes still share were counted once for each; the exact sum takes longer.
        memory = files + sum(field(f"/proc/{pid}/smaps_rollup", "Pss_Anon:") for pid in pids)
    threads = sum(field(f"/proc/{pid}/status", "Threads:") for pid in pids)
    ticks = sum(map(cpu_ticks, pids))
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    return memory, reaped.ru_utime + reaped.ru_stime + ticks / os.sysconf("SC_CLK_TCK"), threads


def field(path: str, name: str) -> int:
    """The number behind `name` in a file of /proc; 0 when the process has just gone."""
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def cpu_ticks(pid: int) -> int:
    """Clock ticks of a live process and of the children that it has waited for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
    except OSError:
        return 0


def kill_all() -> None:
    """End and reap whatever the program left behind, so that its CPU time is counted."""
    try:
        while True:
            os.kill(-1, KILL)
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def collect(name: str, most: int) -> bytes:
    """The bytes of a regular file that the program left."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return file.read(most + 1)


def write_all(descriptor: int, data: bytes) -> None:
    """os.write may take less than it is given."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


main()
