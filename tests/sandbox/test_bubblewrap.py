"""What programs are given, and what comes back."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time

import pytest

from acidtest.sandbox import Limits, Program, SandboxError, Status, open_sandbox
from acidtest.sandbox import bubblewrap as module
from acidtest.sandbox.bubblewrap import BubblewrapSandbox, find_bwrap
from acidtest.sandbox.languages import toolchain


def python(source: str, **more: object) -> Program:
    return Program("python", source, **more)  # type: ignore[arg-type]


async def test_output_exit_code_and_measures(sandbox: BubblewrapSandbox) -> None:
    outcome = await sandbox.run(python("import sys; print(6 * 7); print('no', file=sys.stderr)"))
    assert (outcome.status, outcome.exit_code, outcome.signal) == (Status.OK, 0, None)
    assert (outcome.stdout, outcome.stderr, outcome.truncated) == (b"42\n", b"no\n", False)
    assert 0 < outcome.cpu_s < 5
    assert outcome.wall_s > 0
    assert 1 < outcome.peak_memory_mb < 200


async def test_stdin_args_files_and_entry(sandbox: BubblewrapSandbox) -> None:
    source = "import sys, data.part; print(__file__, sys.argv, sys.stdin.read(), data.part.x, open('a.txt').read())"
    files = {"data/part.py": b"x = 5", "a.txt": b"text"}
    outcome = await sandbox.run(python(source, args=("1", "a b", ""), stdin=b"in", files=files, entry="own.py"))
    assert outcome.stdout.decode() == "/tmp/own.py ['own.py', '1', 'a b', ''] in 5 text\n", outcome.stderr


@pytest.mark.parametrize("code", [1, 2, 42, 126, 127, 128, 137, 255])
async def test_exit_codes_are_the_programs_own(code: int) -> None:
    async with open_sandbox() as sandbox:
        outcome = await sandbox.run(python(f"import sys; sys.exit({code})"))
    assert (outcome.status, outcome.exit_code) == (Status.NONZERO_EXIT, code)


@pytest.mark.parametrize("number", [1, 6, 9, 10, 11, 15])
async def test_signals_are_told_from_exit_codes(number: int) -> None:
    async with open_sandbox() as sandbox:
        outcome = await sandbox.run(python(f"import os; os.kill(os.getpid(), {number})"))
    assert (outcome.status, outcome.exit_code, outcome.signal) == (Status.SIGNALLED, None, number)


async def test_a_traceback_has_the_programs_own_lines(sandbox: BubblewrapSandbox) -> None:
    outcome = await sandbox.run(python("x = 1\n\n1 / 0\n"))
    assert outcome.status is Status.NONZERO_EXIT
    assert b'File "/tmp/main.py", line 3' in outcome.stderr


async def test_any_bytes_come_back_as_they_are(sandbox: BubblewrapSandbox) -> None:
    source = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 3)"
    assert (await sandbox.run(python(source))).stdout == bytes(range(256)) * 3


async def test_big_input_is_read_and_unread_input_blocks_nothing(sandbox: BubblewrapSandbox) -> None:
    big = b"x" * 5_000_000
    assert (await sandbox.run(python("import sys; print(len(sys.stdin.read()))", stdin=big))).stdout == b"5000000\n"
    assert (await sandbox.run(python("print(1)", stdin=big))).stdout == b"1\n"
    assert (await sandbox.run(python("import os; os.close(0); print(2)", stdin=big))).stdout == b"2\n"


async def test_a_long_line_within_the_limit(sandbox: BubblewrapSandbox) -> None:
    outcome = await sandbox.run(python("print('y' * 10_000_000)"), Limits(output_kb=10_000))
    assert (outcome.status, len(outcome.stdout)) == (Status.OK, 10_000_001)


async def test_output_of_exactly_the_limit_is_fine(sandbox: BubblewrapSandbox) -> None:
    source = "import sys; sys.stdout.write('z' * {})"
    exact = await sandbox.run(python(source.format(2048)), Limits(output_kb=2))
    over = await sandbox.run(python(source.format(2049)), Limits(output_kb=2))
    assert (exact.status, exact.truncated, len(exact.stdout)) == (Status.OK, False, 2048)
    assert (over.status, over.truncated, len(over.stdout)) == (Status.OUTPUT_LIMIT, True, 2048)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("c", '#include <stdio.h>\n#include <math.h>\nint main(void){int a;scanf("%d",&a);printf("%.0f\\n",sqrt(a));}'),
        ("cpp", "#include <bits/stdc++.h>\nint main(){int a;std::cin>>a;std::cout<<std::sqrt(a)<<std::endl;}"),
        ("bash", "read a; echo $((a / 7))"),
        ("javascript", "console.log(Math.sqrt(+require('fs').readFileSync(0)))"),
    ],
)
async def test_other_languages(language: str, source: str) -> None:
    if toolchain(language) is None:
        pytest.skip(f"{language} is not installed")
    async with open_sandbox() as sandbox:
        outcome = await sandbox.run(Program(language, source, stdin=b"49"), Limits(memory_mb=1024))
    assert (outcome.status, outcome.stdout) == (Status.OK, b"7\n"), outcome


async def test_a_language_that_is_not_there_is_unavailable_with_the_reason() -> None:
    async with open_sandbox() as sandbox:
        outcome = await sandbox.run(Program("rust", "fn main() {}"))
    assert outcome.status is Status.UNAVAILABLE
    assert "rust" in outcome.detail


async def test_a_compile_error_has_the_compilers_message(sandbox: BubblewrapSandbox) -> None:
    outcome = await sandbox.run(Program("cpp", "int main() { return nothing; }"))
    assert outcome.status is Status.COMPILE_ERROR
    assert b"nothing" in outcome.stderr
    assert "nothing" in outcome.detail


@pytest.mark.parametrize("source", ['#include "/dev/zero"\nint main(){}', '#include "/etc/shadow"\nint main(){}'])
async def test_a_compiler_that_is_attacked_is_a_compile_error(source: str) -> None:
    async with open_sandbox() as sandbox:
        outcome = await sandbox.run(Program("cpp", source))
    assert outcome.status is Status.COMPILE_ERROR
    assert b"root:" not in outcome.stderr


async def test_a_source_is_compiled_once(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    original = BubblewrapSandbox._compile_now

    async def counted(self: BubblewrapSandbox, *args: object) -> object:
        compiled.append(args)
        return await original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(BubblewrapSandbox, "_compile_now", counted)
    program = Program("cpp", '#include <cstdio>\nint main(){int a;scanf("%d",&a);printf("%d",a+1);}')
    outcomes = await sandbox.run_many(program, [b"1", b"2", b"3"])
    assert [outcome.stdout for outcome in outcomes] == [b"2", b"3", b"4"]
    assert len(compiled) == 1


async def test_run_many_keeps_the_order_and_stops_at_the_first_failure(sandbox: BubblewrapSandbox) -> None:
    program = python("import sys, time; n = int(input()); time.sleep(0.2 * (n == 0)); print(n); sys.exit(n == 2)")
    stdins = [b"0", b"1", b"2", b"3"]
    everything = await sandbox.run_many(program, stdins)
    assert [outcome.stdout for outcome in everything] == [b"0\n", b"1\n", b"2\n", b"3\n"]
    assert [outcome.exit_code for outcome in everything] == [0, 0, 1, 0]
    assert len(await sandbox.run_many(program, stdins, stop_at_failure=True)) == 3


async def test_never_more_at_once_than_workers() -> None:
    async with open_sandbox(workers=1) as sandbox:
        source = "import time; a = time.time(); time.sleep(0.1); print(a, time.time())"
        outcomes = await sandbox.run_many(python(source), [b""] * 4)
    spans = sorted(tuple(map(float, outcome.stdout.split())) for outcome in outcomes)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


async def test_cancelling_kills_the_run(sandbox: BubblewrapSandbox) -> None:
    task = asyncio.create_task(sandbox.run(python("import time; time.sleep(600)"), Limits(wall_s=600)))
    while not sandbox._running or next(iter(sandbox._running))._pidfd is None:
        await asyncio.sleep(0.01)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 30
    assert (await sandbox.run(python("print(1)"))).status is Status.OK


def test_several_event_loops_one_after_the_other() -> None:
    async def once() -> bytes:
        async with open_sandbox() as sandbox:
            return (await sandbox.run(python("print(1)"))).stdout

    assert [asyncio.run(once()) for _ in range(3)] == [b"1\n"] * 3


async def test_neighbours_do_not_disturb_each_other() -> None:
    async with open_sandbox(workers=3) as sandbox:
        bomb = python("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
        eater = python("a = []\nwhile True: a.append(bytearray(10**7))")
        good = python("import os; print(os.getpid() < 10, sum(range(10**6)))")
        outcomes = await asyncio.gather(
            sandbox.run(bomb, Limits(cpu_s=1, processes=16)),
            sandbox.run(eater, Limits(memory_mb=100)),
            *(sandbox.run(good) for _ in range(6)),
        )
    assert [outcome.status for outcome in outcomes] == [Status.PROCESS_LIMIT, Status.MEMORY_LIMIT, *[Status.OK] * 6]
    assert {outcome.stdout for outcome in outcomes[2:]} == {b"True 499999500000\n"}


async def test_outside_of_async_with_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await BubblewrapSandbox().run(python("1"))


def test_a_machine_without_bubblewrap_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_bwrap.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        open_sandbox()
    find_bwrap.cache_clear()


def test_a_bubblewrap_that_does_not_work_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    find_bwrap.cache_clear()
    monkeypatch.setattr(module.shutil, "which", lambda name: "/bin/false")
    with pytest.raises(SandboxError, match="user namespaces"):
        open_sandbox()
    find_bwrap.cache_clear()


@pytest.mark.parametrize(
    ("name", "says"), [("bublewrap", "'bubblewrap'"), ("docker", "not in this version"), ("x", "known")]
)
def test_a_sandbox_that_is_not_there_is_named(name: str, says: str) -> None:
    with pytest.raises(SandboxError, match=says):
        open_sandbox(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a plain user")
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="a plain user may not read this interpreter")
def test_it_works_for_a_plain_user() -> None:
    code = (
        "import asyncio\nfrom acidtest.sandbox import *\n"
        "async def main():\n"
        "    async with open_sandbox() as s:\n"
        "        for p, l in ((Program('python', 'import os; os.kill(1, 9); print(os.getuid())'), Limits()),\n"
        "            (Program('python', 'open(\"/proc/1/mem\")'), Limits()),\n"
        "            (Program('python', 'while 1: pass'), Limits(cpu_s=0.5)),\n"
        "            (Program('python', 'a = []\\nwhile 1: a.append(bytearray(10**7))'), Limits(memory_mb=100))):\n"
        "            print((await s.run(p, l)).status.value)\n"
        "asyncio.run(main())\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["acidtest"].__file__ or "")))
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-B", "-c", code]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd="/",
        env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin"},
    )
    if "Permission denied" in done.stderr or "No module named" in done.stderr:
        pytest.skip("a plain user may not read this checkout")
    assert done.stdout.split() == ["ok", "nonzero_exit", "time_limit", "memory_limit"], done.stderr
