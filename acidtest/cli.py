"""The command line: finds the command, and turns every error that a user can mend into one sentence.

Commands are imported when they are called, so that `acidtest verify` never waits for torch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

from acidtest.envs import UserError
from acidtest.envs.errors import unknown_name
from acidtest.exit_codes import BROKEN_PIPE, INTERRUPTED, OK, USER_ERROR
from acidtest.sandbox import SandboxError

COMMANDS = {
    "train": ("acidtest.trainer.command", "[CONFIG.toml] [--field value ...]", "train a model with GRPO"),
    "verify": ("acidtest.commands.verify", "--env NAME --input FILE --output FILE", "score completions"),
    "run": ("acidtest.commands.run", "FILE [--language L] [--stdin FILE]", "run one untrusted program, isolated"),
    "envs": ("acidtest.commands.envs", "", "list the environments"),
    "doctor": ("acidtest.commands.doctor", "", "what works on this machine, and what to install for the rest"),
}
"""Module (with a `main(argv) -> int`), arguments and summary of each command."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 2 for a user's error, 130 after Ctrl-C, else the command's own."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except (UserError, SandboxError) as error:
        print(f"acidtest: error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print("acidtest: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; without this the interpreter would complain once more as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        print(_help(), file=sys.stderr)
        return USER_ERROR
    name, *rest = arguments
    if name in ("-h", "--help"):
        print(_help())
        return OK
    if name == "--version":
        print(f"acidtest {version('acidtest')}")
        return OK
    if name not in COMMANDS:
        raise UserError(unknown_name("command", name, COMMANDS))
    command: Callable[[list[str]], int] = import_module(COMMANDS[name][0]).main
    return command(rest)


def _help() -> str:
    lines = ["usage: acidtest COMMAND ...", ""]
    for name, (_, arguments, summary) in COMMANDS.items():
        lines.append(f"  acidtest {name} {arguments}".rstrip())
        lines.append(f"      {summary}")
    lines += ["", "`acidtest COMMAND --help` explains a command; `acidtest --version` prints the version."]
    return "\n".join(lines)
