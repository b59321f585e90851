from __future__ import annotations

import io

from rich.console import Console

from acidtest.trainer.progress import Progress

METRICS = {"reward": 0.25, "accuracy": 0.5, "groups/degenerate_fraction": 0.125, "tokens_per_second": 1234.4}


def test_plain_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with Progress(2, console=Console(file=out)) as progress:
        progress.step(1, METRICS)
        progress.step(2, {**METRICS, "reward": 1.0})
    first, second = out.getvalue().splitlines()
    assert first.startswith("step 1/2  reward 0.250  accuracy 0.500  degenerate 0.12  tokens/s 1234  left 0:0")
    assert "\x1b" not in out.getvalue()
    assert second.startswith("step 2/2  reward 1.000")


def test_a_live_table_on_a_terminal() -> None:
    out = io.StringIO()
    with Progress(20, console=Console(file=out, force_terminal=True, width=100)) as progress:
        for step in range(1, 21):
            progress.step(step, METRICS)
    assert "time left" in out.getvalue()
    assert "20/20" in out.getvalue()


def test_an_environment_without_accuracy_shows_none() -> None:
    out = io.StringIO()
    with Progress(1, console=Console(file=out)) as progress:
        progress.step(1, {name: value for name, value in METRICS.items() if name != "accuracy"})
    assert "accuracy -" in out.getvalue()


def test_brackets_in_a_message_are_text() -> None:
    out = io.StringIO()
    with Progress(1, console=Console(file=out)) as progress:
        progress.say("runs/[red]x")
    assert out.getvalue() == "runs/[red]x\n"
