"""`acidtest train`: settings from a file and the command line, a run, and what came of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from pydantic import ValidationError

from acidtest.envs import UserError
from acidtest.envs.options import parse_options

from .config import DEMO_CONFIG, TrainConfig, describe, load_config
from .train import TrainResult, train

INTERRUPTED = 130
"""Exit code of a run that the user stopped, as a shell would give it."""


@dataclass
class _Arguments:
    config: tyro.conf.OmitArgPrefixes[TrainConfig]
    env_option: Annotated[tyro.conf.UseAppendAction[list[str]], tyro.conf.arg(metavar="KEY=VALUE")]
    """Option of the environment; may be repeated."""


def main(argv: list[str]) -> int:
    """Run `acidtest train [CONFIG.toml] [--field value ...]`; returns the exit code. Raises UserError."""
    config = parse(argv)
    result = train(config)
    _print_end(result)
    return INTERRUPTED if result.interrupted else 0


def parse(argv: list[str]) -> TrainConfig:
    """The configuration that `argv` asks for; without a file, a model and an environment it is the demo's.

    Raises UserError for a value that does not fit; a misspelt flag ends the process with code 2 and a suggestion.
    """
    file = argv[0] if argv and not argv[0].startswith("-") else None
    rest = argv[1:] if file else argv
    chosen = {flag.partition("=")[0] for flag in rest}
    if file is not None:
        base: Any = load_config(Path(file))
    elif chosen & {"--model", "--env"}:
        base = tyro.MISSING
    else:
        base = load_config(DEMO_CONFIG)
    try:
        arguments = tyro.cli(
            _Arguments,
            args=rest,
            default=_Arguments(base, []),
            prog="acidtest train [CONFIG.toml]",
            description="Train a model with GRPO. Without arguments: the demo, a toy model that learns to add.",
        )
        options = {**arguments.config.env_options, **parse_options(arguments.env_option)}
        return TrainConfig(**{**arguments.config.model_dump(), "env_options": options})
    except ValidationError as error:
        raise UserError(describe(error)) from error


def _print_end(result: TrainResult) -> None:
    before, after = result.accuracy_before, result.accuracy_after
    steps = f"{result.steps} steps in {result.seconds:.0f} s"
    if result.interrupted:
        again = f"--output-dir {result.folder.path} --resume"
        print(f"stopped after {steps}; continue with the same command and {again}", file=sys.stderr)
    elif before is not None and after is not None:
        print(f"held-out accuracy {before:.3f} -> {after:.3f} after {steps}")
    else:
        print(f"trained {steps}")
    print(f"saved to {result.folder.path} (model in {result.folder.path / 'final'})")
