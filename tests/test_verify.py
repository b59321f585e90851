"""`acidtest verify`: order, malformed lines, exit codes, and files that are whole or not there."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.commands.lines import AHEAD, LineReader
from acidtest.commands.verify import IN_FLIGHT_PER_WORKER, _rows
from acidtest.envs import Environment, Rubric, Task, Verifier

from .command_line import Acidtest, error_of

PLUGIN = '''
import asyncio, signal, sys
from acidtest import Environment, PartScore, Rubric, Task, UserError, register
from acidtest.cli import main

async def accuracy(task, completion):
    if task.answer is None:
        raise UserError(f"task {task.id!r} has no gold answer; give the field 'answer'")
    if completion == "never":
        await asyncio.Event().wait()
    if completion == "broken":
        raise ZeroDivisionError("a checker's own mistake")
    if completion == "unavailable":
        return None
    if completion.startswith("after "):
        await asyncio.sleep(float(completion.split()[1]))
    return PartScore(completion == task.answer, detail="compared as text")

@register("echo")
def echo(shout: float = 0.0) -> Environment:
    """Repeat the answer."""
    parts = {"accuracy": (accuracy, 1.0), "shout": (lambda task, text: text.isupper(), shout)}
    return Environment(rubric=Rubric(parts), version="7")

# A suite that runs in the background has SIGINT ignored, and passes that on.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    return path


def line(completion: Any = "yes", answer: str | None = "yes", **fields: Any) -> str:
    return json.dumps({"prompt": "Say yes.", "answer": answer, "completion": completion, **fields}) + "\n"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


ECHO = ("verify", "--env", "echo", "--input", "in.jsonl", "--output", "out.jsonl")


def test_a_score_line_has_the_public_fields(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line(id="a") + line("no", id="b"))
    done = acidtest(*ECHO, script=plugin)
    assert (done.returncode, done.stdout) == (0, "")
    parts = {"accuracy": 1.0, "shout": 0.0}
    shared = {"detail": "compared as text", "version": "7"}
    assert rows_of(tmp_path / "out.jsonl") == [
        {"id": "a", "reward": 1.0, "correct": True, "verdict": "correct", "parts": parts, **shared},
        {"id": "b", "reward": 0.0, "correct": False, "verdict": "wrong", "parts": {**parts, "accuracy": 0.0}, **shared},
    ]
    assert not (tmp_path / "out.jsonl.partial").exists()


def test_the_summary_counts(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    lines = [line(), line(), line(), line("no"), line("unavailable"), "{\n"]
    (tmp_path / "in.jsonl").write_text("".join(lines))
    summary = acidtest(*ECHO, script=plugin).stderr
    assert "scored 5 completions of echo (version 7)" in summary
    assert "reward mean 0.7500 over 4" in summary
    assert "accuracy 0.7500 (3 of 4)" in summary
    assert "verdicts: correct 3, wrong 1, unavailable 1" in summary
    assert "unavailable 1, malformed lines 1" in summary
    assert "written to out.jsonl" in summary


def test_scores_come_in_the_order_of_the_input(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(
        "".join(line(f"after {(9 - n % 10) / 50}", id=str(n)) for n in range(40)),
    )
    assert acidtest(*ECHO, "--workers", "10", script=plugin).returncode == 0
    assert [row["id"] for row in rows_of(tmp_path / "out.jsonl")] == [str(n) for n in range(40)]


MALFORMED = {
    "not JSON": ("{oops", "not valid JSON"),
    "cut off": ('{"prompt": "Say yes.", "completion": "ye', "not valid JSON"),
    "no object": ('["a", "b"]', "an array; it must be an object"),
    "a number": ("3", "a number; it must be an object"),
    "no completion": ('{"prompt": "Say yes.", "answer": "yes"}', "the field 'completion' is missing"),
    "null completion": (line(None), "the field 'completion' is null; it must be text"),
    "completion no text": (line(["yes"]), "the field 'completion' is an array; it must be text"),
    "prompt no text": (line(prompt=5), "the field 'prompt' is int"),
    "no gold": (line(answer=None), "has no gold answer"),
    "too deep": ("[" * 100_000, "not usable JSON"),
    "too many digits": ('{"prompt": ' + "9" * 5000 + "}", "not usable JSON"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_line_is_named_and_the_others_are_scored(
    acidtest: Acidtest, plugin: Path, tmp_path: Path, name: str
) -> None:
    bad, problem = MALFORMED[name]
    (tmp_path / "in.jsonl").write_text(line(id="first") + "\n" + bad.rstrip("\n") + "\n" + line(id="last"))
    done = acidtest(*ECHO, script=plugin)
    assert done.returncode == 2
    (report,) = [text for text in done.stderr.splitlines() if "line 3" in text]
    assert report.startswith("acidtest: line 3: ")
    assert problem in report
    assert "Traceback" not in done.stderr
    first, invalid, last = rows_of(tmp_path / "out.jsonl")
    assert (first["id"], first["reward"], last["id"], last["reward"]) == ("first", 1.0, "last", 1.0)
    assert (invalid["reward"], invalid["correct"], invalid["verdict"]) == (None, None, "invalid")
    assert invalid["detail"].startswith("line 3: ")


def test_bytes_that_are_no_text_are_a_malformed_line(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"completion": "\xff"}\n' + line().encode())
    done = acidtest(*ECHO, script=plugin)
    assert "acidtest: line 1: not UTF-8 text (byte 17)" in done.stderr
    assert [row["verdict"] for row in rows_of(tmp_path / "out.jsonl")] == ["invalid", "correct"]


def test_what_editors_and_other_systems_leave_in_files_is_tolerated(
    acidtest: Acidtest, plugin: Path, tmp_path: Path
) -> None:
    text = "\ufeff" + line(id="a").replace("\n", "\r\n") + "   \r\n" + line(id="b").rstrip("\n")
    (tmp_path / "in.jsonl").write_bytes(text.encode())
    assert acidtest(*ECHO, script=plugin).returncode == 0
    assert [row["id"] for row in rows_of(tmp_path / "out.jsonl")] == ["a", "b"]


def test_a_task_without_an_id_is_named_after_its_line(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("\n" + line() + line(id="given"))
    acidtest(*ECHO, script=plugin)
    assert [row["id"] for row in rows_of(tmp_path / "out.jsonl")] == ["line-2", "given"]


def test_any_text_survives(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    strange = ["答案", "\ud800", "\x00", "\u2028", "🙂"]
    (tmp_path / "in.jsonl").write_text("".join(line(id=text) for text in strange))
    assert acidtest(*ECHO, script=plugin).returncode == 0
    assert [row["id"] for row in rows_of(tmp_path / "out.jsonl")] == strange


def test_unavailable_is_null_and_has_its_own_exit_code(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line() + line("unavailable"))
    assert acidtest(*ECHO, script=plugin).returncode == 3
    row = rows_of(tmp_path / "out.jsonl")[1]
    assert (row["reward"], row["correct"], row["verdict"]) == (None, None, "unavailable")


def test_options_and_another_completion_field(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line("no", answer="YES", reference="YES"))
    options = ("--env-option", "shout=0.5", "--completion-field", "reference")
    assert acidtest(*ECHO, *options, script=plugin).returncode == 0
    assert [row["reward"] for row in rows_of(tmp_path / "out.jsonl")] == [1.5]


def test_standard_input_and_output(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    command = ("verify", "--env", "echo", "--input", "-", "--output", "-")
    done = acidtest(*command, script=plugin, stdin=line(id="a") + line(id="b"))
    assert done.returncode == 0
    assert [json.loads(text)["id"] for text in done.stdout.splitlines()] == ["a", "b"]
    assert os.listdir(tmp_path) == ["plugin.py"]


@pytest.mark.parametrize("content", ["", "\n \n\n"])
def test_an_empty_input_is_one_sentence_and_touches_no_file(
    acidtest: Acidtest, plugin: Path, tmp_path: Path, content: str
) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    (tmp_path / "out.jsonl").write_text("of an earlier run")
    assert "the input in.jsonl has no lines" in error_of(acidtest(*ECHO, script=plugin))
    assert (tmp_path / "out.jsonl").read_text() == "of an earlier run"
    assert not (tmp_path / "out.jsonl.partial").exists()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--env", "ecko"), "unknown environment 'ecko'; did you mean 'echo'?"),
        (("--env-option", "shuot=1"), "did you mean 'shout'?"),
        (("--env-option", "shout"), "write it as key=value"),
        (("--workers", "0"), "--workers is 0; it must be at least 1"),
        (("--input", "gone.jsonl"), "cannot read the input gone.jsonl: No such file or directory"),
        (("--input", "."), "cannot read the input .: Is a directory"),
        (("--output", "gone/out.jsonl"), "cannot write the output gone/out.jsonl: No such file or directory"),
        (("--output", "."), "cannot write the output .: Is a directory"),
        (("--output", "in.jsonl"), "--input and --output are the same file"),
    ],
)
def test_a_mistake_is_one_sentence(
    acidtest: Acidtest, plugin: Path, tmp_path: Path, args: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "in.jsonl").write_text(line())
    assert sentence in error_of(acidtest(*ECHO, *args, script=plugin))
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "plugin.py"]


def test_a_checker_that_crashes_names_the_line_and_keeps_what_is_scored(
    acidtest: Acidtest, plugin: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text(line(id="a") + line("broken", id="b"))
    done = acidtest(*ECHO, "--workers", "1", script=plugin)
    assert done.returncode == 1
    assert "ZeroDivisionError: a checker's own mistake" in done.stderr
    assert "while line 2 of the input was scored (id 'b')" in done.stderr
    assert [row["id"] for row in rows_of(tmp_path / "out.jsonl.partial")] == ["a"]
    assert not (tmp_path / "out.jsonl").exists()


def test_a_link_and_a_pipe_are_written_through(acidtest: Acidtest, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line(id="a"))
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "out.jsonl").symlink_to("real.jsonl")
    assert acidtest(*ECHO, script=plugin).returncode == 0
    assert (tmp_path / "out.jsonl").is_symlink()
    assert [row["id"] for row in rows_of(tmp_path / "real.jsonl")] == ["a"]

    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    assert acidtest(*ECHO, "--output", "pipe", script=plugin).returncode == 0
    reader.join(timeout=30)
    assert json.loads(read[0])["id"] == "a"
    assert (tmp_path / "pipe").is_fifo()


@contextmanager
def started(plugin: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process that is killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, str(plugin), "verify", "--env", "echo", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=plugin.parent,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_each_line_is_answered_before_the_next_is_asked(plugin: Path) -> None:
    with started(plugin, "--input", "-", "--output", "-") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("a", "b", "c"):
            process.stdin.write(line(id=name))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == name
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_ctrl_c_keeps_what_is_scored_and_says_where(plugin: Path, tmp_path: Path) -> None:
    # The pipe stays open and silent: the end must not wait for it.
    with started(plugin, "--input", "-", "--output", "out.jsonl") as process:
        assert process.stdin is not None
        process.stdin.write(line(id="a") + line(id="b") + line("never"))
        process.stdin.flush()
        partial = tmp_path / "out.jsonl.partial"
        deadline = time.monotonic() + 30
        while not (partial.exists() and len(partial.read_text().splitlines()) == 2):
            assert time.monotonic() < deadline, "the first two lines were not scored"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        errors = process.stderr.read()
    assert "2 lines are scored; they are kept in" in errors
    assert "out.jsonl.partial" in errors
    assert "Traceback" not in errors
    assert "Fatal" not in errors
    assert [row["id"] for row in rows_of(partial)] == ["a", "b"]
    assert not (tmp_path / "out.jsonl").exists()


def test_a_reader_that_leaves_is_no_error_worth_a_traceback(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line() * 5000)
    with started(plugin, "--input", "in.jsonl", "--output", "-") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""


class CountingSource(io.BytesIO):
    """Counts the lines that were read of it."""

    count = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.count += 1
        return super().readline(size)


async def test_a_large_input_is_read_no_further_than_needed() -> None:
    go = asyncio.Event()

    async def accuracy(task: Task, completion: str) -> bool:
        if completion == "wait":
            await go.wait()
        return True

    source = CountingSource((line("wait") + line() * 5000).encode())
    workers = 3
    async with Verifier(Environment(rubric=Rubric({"accuracy": (accuracy, 1.0)})), workers=workers) as verifier:
        rows = _rows(LineReader(source), verifier, "completion")
        first = asyncio.ensure_future(anext(rows))
        most = AHEAD + IN_FLIGHT_PER_WORKER * workers + 2
        while source.count < AHEAD + IN_FLIGHT_PER_WORKER * workers:
            await asyncio.sleep(0.001)
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert source.count <= most
        go.set()
        assert (await first)["id"] == "line-1"
        assert [row["id"] async for row in rows] == [f"line-{n}" for n in range(2, 5002)]
