"""Attacks from inside the box, and what is left of them outside."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from acidtest.sandbox import Limits, Outcome, Program, Status
from acidtest.sandbox.bubblewrap import BubblewrapSandbox

SHORT = Limits(cpu_s=1, memory_mb=128, processes=32)


async def attack(sandbox: BubblewrapSandbox, source: str, limits: Limits = SHORT) -> Outcome:
    return await sandbox.run(Program("python", source), limits)


async def refused(sandbox: BubblewrapSandbox, source: str) -> None:
    """`source` must raise OSError or print nothing but `refused`."""
    outcome = await attack(sandbox, f"try:\n    {source}\n    print('DONE')\nexcept OSError:\n    print('refused')")
    assert outcome.stdout == b"refused\n", outcome


@pytest.mark.parametrize(
    "source",
    [
        "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
        "import socket; socket.getaddrinfo('example.org', 80)",
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('8.8.8.8', 53))",
        "import socket; s = socket.socket(socket.AF_INET6); s.connect(('2606:4700:4700::1111', 53))",
    ],
)
async def test_no_network(sandbox: BubblewrapSandbox, source: str) -> None:
    await refused(sandbox, source)


async def test_the_hosts_own_services_are_out_of_reach(sandbox: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        await refused(sandbox, f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0acidtest-{os.getpid()}")
        server.listen()
        address = f"\\0acidtest-{os.getpid()}"
        await refused(sandbox, f"import socket; socket.socket(socket.AF_UNIX).connect('{address}')")


@pytest.mark.parametrize(
    "path",
    ["/x", "/usr/x", "/etc/x", "/dev/x", "/bin/x", "/proc/sys/kernel/core_pattern", "/sys/x", "/root/x", "/home/x"],
)
async def test_nothing_is_written_outside_of_its_tmpfs(sandbox: BubblewrapSandbox, path: str) -> None:
    await refused(sandbox, f"open({path!r}, 'w').write('x')")
    assert not Path(path).exists() or path.startswith("/proc")


async def test_what_it_writes_is_gone(sandbox: BubblewrapSandbox) -> None:
    name = f"acidtest-{os.getpid()}"
    for folder in ("/tmp", "/dev/shm"):
        written = await attack(sandbox, f"open('{folder}/{name}', 'w').write('x'); print('written')")
        assert written.stdout == b"written\n"
        assert not Path(folder, name).exists()
        await refused(sandbox, f"open('{folder}/{name}')")


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/hostname", "/root/.bashrc", "/home", "/opt", "/var", "/sys/class", "/proc/1/environ"]
)
async def test_the_hosts_files_are_not_there(sandbox: BubblewrapSandbox, path: str) -> None:
    await refused(sandbox, f"import os; os.listdir({path!r}) if os.path.isdir({path!r}) else open({path!r}).read()")


async def test_no_host_environment_variable_is_seen(
    sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACIDTEST_SECRET", "42")
    outcome = await attack(sandbox, "import os; print(*sorted(os.environ))")
    seen = outcome.stdout.decode().split()
    assert "PYTHONHASHSEED" in seen
    assert not {"ACIDTEST_SECRET", "SHELL", "PWD", "OLDPWD", "VIRTUAL_ENV"} & set(seen)


async def test_it_is_nobody_and_stays_so(sandbox: BubblewrapSandbox) -> None:
    outcome = await attack(
        sandbox,
        "import os\nprint(os.getresuid(), os.getresgid(), os.getgroups())\n"
        "caps = [l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapAmb'))]\n"
        "print(caps, [l for l in open('/proc/self/status') if l.startswith('NoNewPrivs')])",
    )
    first, second = outcome.stdout.decode().splitlines()
    assert first.startswith("(65534, 65534, 65534) (65534, 65534, 65534)")
    assert second == f"{['0' * 16] * 3} ['NoNewPrivs:\\t1\\n']"
    await refused(sandbox, "import os; os.setuid(0)")


async def test_no_namespaces_of_its_own(sandbox: BubblewrapSandbox) -> None:
    source = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print([libc.unshare(flag) for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000)])"
    )
    assert (await attack(sandbox, source)).stdout == b"[-1, -1, -1, -1]\n"


async def test_it_sees_no_process_but_its_own_and_cannot_touch_pid_1(sandbox: BubblewrapSandbox) -> None:
    outcome = await attack(sandbox, "import os; print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))")
    assert outcome.stdout == b"[1, 2]\n"
    for source in ("import os; os.kill(1, 9)", "open('/proc/1/mem', 'rb')", "import os; os.listdir('/proc/1/fd')"):
        await refused(sandbox, source)
    traced = "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))"
    assert (await attack(sandbox, traced)).stdout == b"-1\n"


async def test_it_has_no_descriptor_but_its_own_three(sandbox: BubblewrapSandbox) -> None:
    with open(__file__, "rb") as leak:
        os.set_inheritable(leak.fileno(), True)
        outcome = await attack(sandbox, "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
    assert outcome.stdout == b"[0, 1, 2]\n"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("while True: pass", Status.TIME_LIMIT),
        ("import os\nfor _ in range(8): os.fork()\nwhile True: pass", Status.PROCESS_LIMIT),
        ("import os\nfor _ in range(2): os.fork()\nwhile True: pass", Status.TIME_LIMIT),
        ("import os\nwhile True: os.fork()", Status.PROCESS_LIMIT),
        ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", Status.PROCESS_LIMIT),
        (
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()",
            Status.PROCESS_LIMIT,
        ),
        ("a = []\nwhile True: a.append(bytearray(10**7))", Status.MEMORY_LIMIT),
        ("a = bytearray(10**14)", Status.MEMORY_LIMIT),
        (
            "import os, time\nfor _ in range(4):\n  if os.fork() == 0: a = b'x' * 60_000_000; time.sleep(9)\nos.wait()",
            Status.MEMORY_LIMIT,
        ),
        ("import sys\nwhile True: sys.stdout.write('x' * 10**6)", Status.OUTPUT_LIMIT),
        ("import sys\nfor _ in range(1000): sys.stderr.write('x' * 10**6)", Status.OUTPUT_LIMIT),
        ("def f(n): return f(n + 1)\nf(0)", Status.NONZERO_EXIT),
        ("import signal, os\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", Status.TIME_LIMIT),
        ("with open('/tmp/x', 'wb') as f:\n    while True: f.write(b'x' * 10**6)", Status.NONZERO_EXIT),
    ],
)
async def test_each_bomb_ends_in_its_own_status(sandbox: BubblewrapSandbox, source: str, status: Status) -> None:
    limits = Limits(cpu_s=1, memory_mb=160, processes=32, file_mb=16)
    outcome = await attack(sandbox, source, limits)
    assert outcome.status is status, outcome
    assert outcome.cpu_s <= 3
    assert outcome.wall_s <= limits.wall_limit_s + 2


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
async def test_files_in_memory_count_as_memory(sandbox: BubblewrapSandbox, folder: str) -> None:
    fill = "for _ in range(300): f.write(bytes(10**6))"
    source = f"import time\nwith open('{folder}/x', 'wb') as f:\n    {fill}\ntime.sleep(9)"
    outcome = await attack(sandbox, source, Limits(cpu_s=2, memory_mb=100, file_mb=400))
    assert outcome.status is Status.MEMORY_LIMIT, outcome


async def test_a_sleeper_is_ended_by_the_wall_clock(sandbox: BubblewrapSandbox) -> None:
    outcome = await attack(sandbox, "import time; print('on', flush=True); time.sleep(60)", Limits(cpu_s=1, wall_s=1))
    assert (outcome.status, outcome.stdout) == (Status.TIME_LIMIT, b"on\n")
    assert outcome.wall_s < 3
    assert "after 1 s" in outcome.detail


async def test_a_daemon_ends_with_its_program_and_its_time_counts(sandbox: BubblewrapSandbox) -> None:
    source = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        while True: pass\n    os._exit(0)\nos.wait()\n"
        "while time.process_time() < 0.01: pass\ntime.sleep(0.5)\nprint('done')"
    )
    outcome = await attack(sandbox, source, Limits(cpu_s=5))
    assert (outcome.status, outcome.stdout) == (Status.OK, b"done\n")
    assert outcome.cpu_s > 0.1


def host_state() -> dict[str, object]:
    """What an attack could leave behind: processes, mounts, control groups, temporary files, our descriptors."""
    processes = {
        path.name
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and b"bwrap" in _read(path / "cmdline").split(b"\0")[0]
    }
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob("**/acidtest-*")]
    return {
        "processes": processes,
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "groups": [group for group in groups if f"-{os.getpid()}-" in group],
        "files": {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("acidtest")},
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def test_nothing_stays_behind(sandbox: BubblewrapSandbox) -> None:
    await attack(sandbox, "print(1)")  # the pool's threads and their descriptors
    before = host_state()
    for source in (
        "print(1)",
        "while True: pass",
        "import os\nwhile True: os.fork()",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)",
        "import sys\nwhile True: sys.stdout.write('x' * 10**6)",
        "a = []\nwhile True: a.append(bytearray(10**7))",
    ):
        await attack(sandbox, source, Limits(cpu_s=0.5, memory_mb=100, processes=16))
    assert host_state() == before


async def test_a_client_that_is_killed_takes_its_boxes_with_it(tmp_path: Path) -> None:
    code = (
        "import asyncio\nfrom acidtest.sandbox import *\n"
        "async def main():\n    async with open_sandbox() as s:\n"
        "        await s.run(Program('python', 'import time; time.sleep(987654)'), Limits(wall_s=600))\n"
        "asyncio.run(main())"
    )
    client = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not (children := boxes_of(client.pid)):
            await asyncio.sleep(0.02)
            assert client.poll() is None
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
    for _ in range(500):
        if not any(Path(f"/proc/{pid}").exists() for pid in children):
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"still there: {children}")


def boxes_of(parent: int) -> list[int]:
    """The sleeping program of a client's box, once it runs, with all between them."""
    try:
        found = psutil.Process(parent).children(recursive=True)
        return [child.pid for child in found] if any("main.py" in child.cmdline() for child in found) else []
    except psutil.NoSuchProcess:
        return []
