"""`acidtest run`: one untrusted program in isolation, its outcome as JSON."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from acidtest.envs import UserError
from acidtest.envs.errors import unknown_name
from acidtest.exit_codes import OK, UNAVAILABLE
from acidtest.sandbox import LANGUAGES, Limits, Outcome, Program, Status, open_sandbox

from .flags import parse_flags

EXTENSIONS = {
    ".py": "python",
    ".c": "c",
    ".cpp": "cpp",
    ".cc": "cpp",
    ".cxx": "cpp",
    ".java": "java",
    ".js": "javascript",
    ".mjs": "javascript",
    ".go": "go",
    ".rs": "rust",
    ".sh": "bash",
}
"""What a file's extension says about its language."""

DEFAULTS = Limits()


@dataclass(frozen=True)
class RunOptions:
    """What is run."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The program's source."""
    language: Annotated[str | None, tyro.conf.arg(metavar="|".join(LANGUAGES))] = None
    """Its language; by default what the file's extension says."""
    stdin: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """What the program reads: a file, or - for this command's own standard input; by default nothing."""
    sandbox: str = "auto"
    """What isolates the program; auto takes the strongest that works here."""
    cpu_s: float = DEFAULTS.cpu_s
    """CPU seconds of the whole process tree; they decide what is too slow."""
    wall_s: float | None = DEFAULTS.wall_s
    """Seconds on the clock, which only catch sleepers; None means five times the CPU seconds plus two."""
    memory_mb: int = DEFAULTS.memory_mb
    """MiB of memory."""
    processes: int = DEFAULTS.processes
    """Processes and threads alive at once."""
    output_kb: int = DEFAULTS.output_kb
    """KiB kept of its output and of its errors each."""
    file_mb: int = DEFAULTS.file_mb
    """MiB that it may write to its disk."""
    stack_mb: int = DEFAULTS.stack_mb
    """MiB of stack."""


def main(argv: list[str]) -> int:
    """Print the outcome; exit code 0 when there is one, whatever the program did, 3 when it is unavailable."""
    description = "Run one untrusted program in isolation and print its outcome as JSON."
    options = parse_flags(RunOptions, argv, "run", description)
    limits = _limits(options)
    program = Program(_language(options), _source(options.file), stdin=_stdin(options.stdin))
    outcome = asyncio.run(_run(program, limits, options.sandbox))
    print(json.dumps(as_json(outcome)))
    return UNAVAILABLE if outcome.status is Status.UNAVAILABLE else OK


def as_json(outcome: Outcome) -> dict[str, object]:
    """The outcome's fields; bytes become text, with what is no UTF-8 as `\\xNN`."""
    fields = {item.name: getattr(outcome, item.name) for item in dataclasses.fields(outcome)}
    return {
        name: value.decode(errors="backslashreplace") if isinstance(value, bytes) else value
        for name, value in fields.items()
    }


async def _run(program: Program, limits: Limits, name: str) -> Outcome:
    async with open_sandbox(name, workers=1) as sandbox:
        return await sandbox.run(program, limits)


def _limits(options: RunOptions) -> Limits:
    values = {limit.name: getattr(options, limit.name) for limit in dataclasses.fields(Limits)}
    try:
        return Limits(**values)
    except ValueError as error:
        raise UserError(str(error)) from error


def _language(options: RunOptions) -> str:
    if options.language is not None:
        if options.language not in LANGUAGES:
            raise UserError(unknown_name("language", options.language, LANGUAGES))
        return options.language
    language = EXTENSIONS.get(options.file.suffix.lower())
    if language is None:
        raise UserError(f"the name {options.file.name!r} does not say the language; add --language")
    return language


def _source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the program {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the program {path} is not UTF-8 text (byte {error.start + 1}); convert it") from error


def _stdin(name: str | None) -> bytes:
    if name is None:
        return b""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the standard input {name}: {error.strerror}") from error
