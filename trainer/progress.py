"""What a person sees while a run goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

SHOWN_STEPS = 12


class Progress:
    """Shows step, reward, accuracy, degenerate fraction, tokens/s and time left."""

    def __init__(self, total_steps: int, first_step: int = 1, console: Console | None = None) -> None:
        self.console = console or Console()
        self.total = total_steps
        self.first = first_step
        self.rows: list[list[str]] = []
        self.started = time.monotonic()
        self.live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def say(self, text: str) -> None:
        """One line of its own."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Show one finished step."""
        row = [
            f"{step}/{self.total}",
            f"{metrics['reward']:.3f}",
            f"{metrics['accuracy']:.3f}" if "accuracy" in metrics else "-",
            f"{metrics['groups/degenerate_fraction']:.2f}",
            f"{metrics['tokens_per_second']:.0f}",
            self._time_left(step),
        ]
        self.rows = [*self.rows, row][-SHOWN_STEPS:]
        if self.live is not None:
            self.live.update(self._table(), refresh=True)
        else:
            names = ("step", "reward", "accuracy", "degenerate", "tokens/s", "left")
            self.say("  ".join(f"{name} {value}" for name, value in zip(names, row, strict=True)))

    def _time_left(self, step: int) -> str:
        each = (time.monotonic() - self.started) / (step - self.first + 1)
        minutes, seconds = divmod(round(each * (self.total - step)), 60)
        return f"{minutes}:{seconds:02d}"

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for name in ("step", "reward", "accuracy", "degenerate", "tokens/s", "time left"):
            table.add_column(name, justify="right")
        for row in self.rows:
            table.add_row(*row)
        return table
