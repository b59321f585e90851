"""`acidtest train`: settings from a file and the command line, a run, and what came of it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro
from pydantic import ValidationError

from acidtest.envs import UserError
from acidtest.envs.errors import unknown_name
from acidtest.envs.options import parse_options

from .config import DEMO_CONFIG, TrainConfig, describe, load_config
from .train import TrainResult, train

INTERRUPTED = 130
"""Exit code of a run that the user stopped, as a shell would give it."""

DESCRIPTION = "Train a model with GRPO. Without arguments: the demo, a toy model that learns to add."
OPTIONS = "env_options"
"""The one setting that no flag sets as a whole; `--env-option` adds to it."""


def main(argv: list[str]) -> int:
    """Run `acidtest train [CONFIG.toml] [--field value ...]`; returns the exit code. Raises UserError."""
    config = parse(argv)
    result = train(config)
    _print_end(result)
    return INTERRUPTED if result.interrupted else 0


def parse(argv: list[str]) -> TrainConfig:
    """The configuration that `argv` asks for; without a file, a model and an environment it is the demo's.

    Raises UserError for a misspelt flag, with the nearest valid one, and for a value that does not fit. A value
    of the wrong type ends the process with code 2 and tyro's explanation.
    """
    file = argv[0] if argv and not argv[0].startswith("-") else None
    rest = argv[1:] if file else argv
    _check_flags(rest)
    chosen = {flag.partition("=")[0] for flag in rest}
    base: dict[str, Any] = {}
    if file is not None:
        base = load_config(Path(file)).model_dump()
    elif not chosen & {"--model", "--env"}:
        base = load_config(DEMO_CONFIG).model_dump()
    prog = "acidtest train [CONFIG.toml]"
    flags = dict(vars(tyro.cli(_flags_class(base), args=rest, prog=prog, description=DESCRIPTION)))
    options = {**base.get(OPTIONS, {}), **parse_options(flags.pop("env_option"))}
    try:
        return TrainConfig(**flags, env_options=options)
    except ValidationError as error:
        raise UserError(describe(error)) from error


def _check_flags(argv: Sequence[str]) -> None:
    names = {f"--{name.replace('_', '-')}" for name in TrainConfig.model_fields if name != OPTIONS}
    negated = {f"--no-{name.removeprefix('--')}" for name in names}
    known = {*names, "--env-option", "--help"}
    for argument in argv:
        flag = argument.partition("=")[0].replace("_", "-")
        if flag.startswith("--") and flag not in known | negated:
            raise UserError(f"acidtest train: {unknown_name('option', flag, known)}")


def _flags_class(base: dict[str, Any]) -> type:
    """A plain dataclass with `TrainConfig`'s fields, `base` as defaults: pydantic then checks all values at once."""
    fields: list[tuple[str, Any, Any]] = []
    for name, info in TrainConfig.model_fields.items():
        if name == OPTIONS:
            continue
        annotation: Any = Annotated[info.annotation, tyro.conf.arg(help=info.description)]
        default = base[name] if name in base else info.get_default()
        required = name not in base and info.is_required()
        fields.append((name, annotation, dataclasses.field() if required else dataclasses.field(default=default)))
    option = Annotated[
        tyro.conf.UseAppendAction[list[str]],
        tyro.conf.arg(metavar="KEY=VALUE", help="Option of the environment; may be repeated."),
    ]
    fields.append(("env_option", option, dataclasses.field(default_factory=list)))
    return dataclasses.make_dataclass("TrainFlags", fields, kw_only=True)


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
