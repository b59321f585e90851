"""How the commands read their flags: a dataclass for each, filled by tyro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import tyro

from acidtest.envs import UserError
from acidtest.envs.errors import unknown_name

T = TypeVar("T")


def parse_flags(options: type[T], argv: Sequence[str], command: str, description: str) -> T:
    """Fill the dataclass `options` from `argv`.

    Raises UserError with the nearest valid name for an unknown flag. Other mistakes are tyro's to explain: it
    ends the process with code 2.
    """
    known = {"--help", *(f"--{field.name.replace('_', '-')}" for field in fields(options))}  # type: ignore[arg-type]
    for argument in argv:
        flag = argument.partition("=")[0].replace("_", "-")
        if flag.startswith("--") and flag not in known:
            raise UserError(f"acidtest {command}: {unknown_name('option', flag, known)}")
    return tyro.cli(options, args=list(argv), prog=f"acidtest {command}", description=description)
