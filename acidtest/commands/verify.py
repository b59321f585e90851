"""`acidtest verify`: scores the completions of a jsonl file, in its order and in bounded memory.

A line that cannot be scored is reported with its number and gets an output line too (verdict `invalid`, reward
null), so that line N of the output always belongs to the Nth non-blank line of the input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import tyro
from rich.console import Console

from acidtest.envs import Environment, Score, UserError, Verifier, make
from acidtest.envs.options import parse_options
from acidtest.exit_codes import INTERRUPTED, OK, UNAVAILABLE, USER_ERROR

from .flags import parse_flags
from .lines import LineReader, read_completion, read_record
from .score_file import ScoreFile

INVALID = "invalid"
"""The verdict of a line that is malformed."""

IN_FLIGHT_PER_WORKER = 4
"""Lines held at once for each worker, so that one slow answer does not idle the others."""


@dataclass(frozen=True)
class VerifyOptions:
    """What is scored, and how."""

    env: str
    """Name of the environment; `acidtest envs` lists them."""
    input: Annotated[str, tyro.conf.arg(metavar="FILE.jsonl")]
    """Lines with a task's fields and its completion; - reads standard input."""
    output: Annotated[str, tyro.conf.arg(metavar="FILE.jsonl")]
    """One score a line, in the order of the input; - writes to standard output."""
    env_option: Annotated[tyro.conf.UseAppendAction[list[str]], tyro.conf.arg(metavar="KEY=VALUE")] = field(
        default_factory=list
    )
    """Option of the environment, as rubric=r1; the value is JSON where it can be, else text."""
    completion_field: str = "completion"
    """The field that holds the text to score."""
    workers: int | None = None
    """Completions scored at once; by default one more than the CPUs."""
    sandbox: str = "auto"
    """What isolates untrusted programs; auto takes the strongest that works here."""


@dataclass(slots=True)
class Tally:
    """What has been scored so far."""

    scores: int = 0
    reward_sum: float = 0.0
    rewarded: int = 0
    correct: int = 0
    judged: int = 0
    malformed: int = 0
    unavailable: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)

    def add(self, row: dict[str, Any]) -> None:
        """Count one output line."""
        if row["verdict"] == INVALID:
            self.malformed += 1
            return
        self.scores += 1
        self.verdicts[row["verdict"]] += 1
        if row["reward"] is None:
            self.unavailable += 1
        else:
            self.rewarded += 1
            self.reward_sum += row["reward"]
        if row["correct"] is not None:
            self.judged += 1
            self.correct += row["correct"]


def main(argv: list[str]) -> int:
    """Score a file; exit code 2 when a line was malformed, else 3 when a score was unavailable, else 0."""
    options = parse_flags(VerifyOptions, argv, "verify", "Score the completions of a jsonl file.")
    if options.workers is not None and options.workers < 1:
        raise UserError(f"--workers is {options.workers}; it must be at least 1")
    _refuse_same_file(options)
    env = make(options.env, **parse_options(options.env_option))
    started = time.monotonic()
    tally = Tally()
    sink = None
    try:
        source = _open_input(options.input)
        with ScoreFile(options.output) as sink:
            asyncio.run(_score(source, sink, env, options, tally))
            if sink.lines == 0:
                raise UserError(f"the input {_shown(options.input)} has no lines; each must be a JSON object")
            sink.finish()
    except BaseException as error:
        if sink is not None and sink.partial is not None:
            _say(f"{sink.lines} lines are scored; they are kept in {sink.partial}")
        if isinstance(error, KeyboardInterrupt):
            _say("interrupted")
            return INTERRUPTED
        raise
    _print_summary(tally, env, time.monotonic() - started, sink.shown)
    if tally.malformed:
        return USER_ERROR
    return UNAVAILABLE if tally.unavailable else OK


async def _score(source: BinaryIO, sink: ScoreFile, env: Environment, options: VerifyOptions, tally: Tally) -> None:
    # On a terminal a line counts along, unless the scores themselves are written there.
    console = Console(stderr=True, quiet=options.output == "-")
    with console.status("scoring") as status:
        async with Verifier(env, workers=options.workers, sandbox=options.sandbox) as verifier:
            async for row in _rows(LineReader(source), verifier, options.completion_field):
                if row["verdict"] == INVALID:
                    _say(row["detail"])
                tally.add(row)
                sink.write(json.dumps(row))
                status.update(f"scored {sink.lines} lines")


async def _rows(reader: LineReader, verifier: Verifier, completion_field: str) -> AsyncIterator[dict[str, Any]]:
    """An output line for each line of the input, in order, as soon as it and all before it are scored."""
    running: deque[asyncio.Task[dict[str, Any]]] = deque()
    reading: asyncio.Task[bytes | None] | None = asyncio.create_task(reader.next())
    number = 0
    try:
        while reading is not None or running:
            full = len(running) >= IN_FLIGHT_PER_WORKER * verifier.workers
            awaited: list[asyncio.Task[Any]] = [running[0]] if running else []
            if reading is not None and not full:
                awaited.append(reading)
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            while running and running[0].done():
                yield running.popleft().result()
            if reading is None or not reading.done() or full:
                continue
            line = reading.result()
            number += 1
            if line is not None and line.strip():
                running.append(asyncio.create_task(_row(line, number, verifier, completion_field)))
            reading = None if line is None else asyncio.create_task(reader.next())
    finally:
        for task in [*running, *([reading] if reading is not None else [])]:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _row(line: bytes, number: int, verifier: Verifier, completion_field: str) -> dict[str, Any]:
    task_id = f"line-{number}"
    try:
        record = read_record(line)
        task_id = str(record.get("id", task_id))
        completion = read_completion(record, completion_field)
        score = await verifier.score(verifier.env.task_from_record(record, task_id), completion)
    except UserError as error:
        score = Score(None, verdict=INVALID, detail=f"line {number}: {error}")
    except Exception as error:
        error.add_note(f"while line {number} of the input was scored (id {task_id!r})")
        raise
    return as_row(task_id, score, verifier.env.version)


def as_row(task_id: str, score: Score, version: str) -> dict[str, Any]:
    """A score as an output line."""
    return {
        "id": task_id,
        "reward": score.reward,
        "correct": score.correct,
        "verdict": score.verdict,
        "parts": dict(score.parts),
        "detail": score.detail,
        "version": version,
    }


def _print_summary(tally: Tally, env: Environment, seconds: float, output: str) -> None:
    rate = tally.scores / seconds if seconds > 0 else 0.0
    completions = "completion" if tally.scores == 1 else "completions"
    lines = [f"scored {tally.scores} {completions} of {env.name} (version {env.version}): {rate:.1f} per second"]
    if tally.rewarded:
        lines.append(f"reward mean {tally.reward_sum / tally.rewarded:.4f} over {tally.rewarded}")
    if tally.judged:
        lines.append(f"accuracy {tally.correct / tally.judged:.4f} ({tally.correct} of {tally.judged})")
    if tally.verdicts:
        counts = ", ".join(f"{verdict} {count}" for verdict, count in tally.verdicts.most_common())
        lines.append(f"verdicts: {counts}")
    lines.append(f"unavailable {tally.unavailable}, malformed lines {tally.malformed}")
    lines.append(f"written to {output}")
    console = Console(stderr=True)
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _open_input(name: str) -> BinaryIO:
    try:
        # Standard input is opened anew: a thread that is blocked on sys.stdin would hold up the interpreter's end.
        return open(0, "rb", closefd=False) if name == "-" else Path(name).open("rb")
    except OSError as error:
        raise UserError(f"cannot read the input {name}: {error.strerror}") from error


def _refuse_same_file(options: VerifyOptions) -> None:
    source, target = Path(options.input), Path(options.output)
    if "-" not in (options.input, options.output) and source.is_file() and target.is_file() and source.samefile(target):
        raise UserError(f"--input and --output are the same file {options.input}; name another output")


def _shown(name: str) -> str:
    return "on standard input" if name == "-" else name


def _say(text: str) -> None:
    print(f"acidtest: {text}", file=sys.stderr)
