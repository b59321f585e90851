"""The folder of a run: config, metrics, completions, checkpoints, the final model and the summary."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w
import torch
from transformers.utils import logging as transformers_logging

from acidtest.envs import UserError

from .config import TrainConfig
from .models import Policy

STATE_FILE = "trainer_state.pt"


class RunFolder:
    """Writes and reads one run. Files appear whole or not at all; the two jsonl files grow by whole lines.

    Raises UserError when the folder holds another run and `resume` is off, or nothing to resume and it is on.
    """

    def __init__(self, config: TrainConfig) -> None:
        name = config.output_dir.replace("{env}", config.env).replace("{time}", time.strftime("%Y%m%d-%H%M%S"))
        self.path = Path(name)
        self.checkpoints = self.path / "checkpoints"
        started = (self.path / "config.toml").exists()
        if started and not config.resume:
            raise UserError(f"{self.path} already holds a run; choose another output_dir or set resume to continue it")
        if config.resume and self.newest_checkpoint() is None:
            raise UserError(f"{self.path} has no checkpoint to resume from; start it without resume")
        if not config.resume:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            _write_text(self.path / "config.toml", tomli_w.dumps(config.model_dump(exclude_none=True)))

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append one object to metrics.jsonl, `step` first."""
        self._append("metrics.jsonl", [{"step": step, **metrics}])

    def log_completions(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append one object a completion to completions.jsonl."""
        self._append("completions.jsonl", rows)

    def save_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json."""
        _write_text(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    def save_checkpoint(self, step: int, policy: Policy, state: Mapping[str, Any]) -> Path:
        """Write checkpoints/step-N: a Hugging Face folder and the trainer's state beside it."""
        target = self.checkpoints / f"step-{step}"
        partial = self.checkpoints / f".step-{step}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        save_model(policy, partial)
        torch.save(dict(state), partial / STATE_FILE)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(partial, target)
        return target

    def save_final(self, policy: Policy) -> Path:
        """Write final/ in Hugging Face format."""
        partial, target = self.path / ".final.partial", self.path / "final"
        shutil.rmtree(partial, ignore_errors=True)
        save_model(policy, partial)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(partial, target)
        return target

    def newest_checkpoint(self) -> Path | None:
        """The checkpoint with the highest step, or None."""
        found = [path for path in self.checkpoints.glob("step-*") if (path / STATE_FILE).exists()]
        return max(found, key=lambda path: int(path.name.removeprefix("step-")), default=None)

    def forget_after(self, step: int) -> None:
        """Drop metrics and completions of later steps, which a resumed run is about to write again."""
        for name in ("metrics.jsonl", "completions.jsonl"):
            path = self.path / name
            if path.exists():
                kept = [line for line in path.read_text().splitlines() if _step_of(line) <= step]
                _write_text(path, "".join(f"{line}\n" for line in kept))

    def _append(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def save_model(policy: Policy, folder: Path) -> None:
    """Save model and tokenizer so that `from_pretrained(folder)` loads them."""
    with _no_progress_bars():
        policy.model.save_pretrained(folder)
        policy.tokenizer.save_pretrained(folder)


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    # They would tear the run's own display apart.
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except json.JSONDecodeError:
        return float("inf")  # a line that a crash cut short is written again


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
