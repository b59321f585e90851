"""`acidtest envs`: the environments that can be named."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from acidtest.envs import list_environments
from acidtest.envs.registry import environment_help

from .flags import parse_flags


@dataclass(frozen=True, slots=True)
class EnvsOptions:
    """No options."""


def main(argv: list[str]) -> int:
    """Print each environment's name and what it is: a table on a terminal, else tab-separated lines."""
    parse_flags(EnvsOptions, argv, "envs", "List the environments.")
    rows = [(name, environment_help(name)) for name in list_environments()]
    if not sys.stdout.isatty():
        for name, text in rows:
            print(f"{name}\t{text}")
        return 0
    from rich.console import Console  # noqa: PLC0415  (costs more than the rest of the command)
    from rich.table import Table  # noqa: PLC0415

    table = Table("environment", "what it asks")
    for name, text in rows:
        table.add_row(name, text)
    Console().print(table)
    return 0
