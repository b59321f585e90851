"""Whole runs of the toy model: what they leave on disk, and that a stopped run goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from acidtest.envs import Environment, Rubric, Score, Task, UserError, register
from acidtest.envs.task import Transcript
from acidtest.trainer import train as train_module
from acidtest.trainer.config import TrainConfig
from acidtest.trainer.toy import toy_model, toy_tokenizer, warm_start
from acidtest.trainer.train import train

MakeConfig = Callable[..., TrainConfig]


@pytest.fixture(autouse=True)
def same_arithmetic() -> Iterator[None]:
    """One thread: the order of additions, and so the last bit, must not depend on the machine's load."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_a_run_leaves_what_it_promises(tmp_path: Path, config: MakeConfig) -> None:
    result = train(config(output_dir=str(tmp_path / "run"), max_steps=3, save_steps=2, eval_steps=2))
    folder = tmp_path / "run"
    assert {path.name for path in folder.iterdir()} == {
        "config.toml",
        "metrics.jsonl",
        "completions.jsonl",
        "checkpoints",
        "final",
        "summary.json",
    }
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["step-2", "step-3"]
    metrics = lines(folder, "metrics.jsonl")
    assert [next(iter(line)) for line in metrics] == ["step"] * 6
    steps = [line for line in metrics if "reward" in line]
    assert [line["step"] for line in steps] == [1, 2, 3]
    for line in steps:
        assert {"accuracy", "groups/degenerate_fraction", "tokens_per_second", "completions/mean_length"} <= set(line)
    evaluations = [line for line in metrics if "eval/accuracy" in line]
    assert [line["step"] for line in evaluations] == [0, 2, 3]
    assert evaluations[0]["eval/accuracy"] == result.accuracy_before
    assert evaluations[-1]["eval/accuracy"] == result.accuracy_after
    completions = lines(folder, "completions.jsonl")
    assert [line["step"] for line in completions] == [1] * 16 + [2] * 16 + [3] * 16
    assert {"prompt", "completion", "reward", "parts", "verdict", "advantage"} <= set(completions[0])
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["steps"], summary["interrupted"]) == (3, False)
    AutoTokenizer.from_pretrained(folder / "final")
    final = AutoModelForCausalLM.from_pretrained(folder / "final").state_dict()
    last = AutoModelForCausalLM.from_pretrained(folder / "checkpoints" / "step-3").state_dict()
    assert all(torch.equal(final[name], last[name]) for name in last)


def test_it_learns(tmp_path: Path, config: MakeConfig) -> None:
    result = train(
        config(
            output_dir=str(tmp_path),
            warm_start_steps=15,
            max_steps=30,
            prompts_per_step=8,
            num_generations=8,
            learning_rate=2e-4,
            eval_tasks=20,
        )
    )
    assert result.accuracy_before is not None
    assert result.accuracy_after is not None
    assert result.accuracy_before <= 0.5
    assert result.accuracy_after >= 0.9


def test_equal_seeds_give_equal_runs_and_other_seeds_other_ones(tmp_path: Path, config: MakeConfig) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(config(output_dir=str(tmp_path / name), seed=seed, degenerate="smooth"))
    first, same, other = (load_file(tmp_path / name / "final" / "model.safetensors") for name in "abc")
    assert equal(first, same)
    assert not equal(first, other)


@pytest.mark.parametrize(
    "changes",
    [
        {"degenerate": "smooth"},
        {"beta": 0.1, "num_iterations": 2, "degenerate": "keep", "lr_scheduler_type": "cosine", "warmup_steps": 2},
    ],
)
def test_a_run_that_was_killed_resumes_bit_for_bit(
    tmp_path: Path, config: MakeConfig, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    def settings(name: str, **more: Any) -> TrainConfig:
        return config(output_dir=str(tmp_path / name), max_steps=5, save_steps=2, **changes, **more)

    train(settings("whole"))

    class Killed(BaseException):
        pass

    original = train_module._Run.train_step

    async def dies_in_step_four(run: Any, verifier: Any) -> dict[str, float]:
        figures = await original(run, verifier)
        if run.step == 3:
            raise Killed
        return figures

    monkeypatch.setattr(train_module._Run, "train_step", dies_in_step_four)
    with pytest.raises(Killed):
        train(settings("killed"))
    monkeypatch.undo()
    result = train(settings("killed", resume=True))

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert equal(*(load_file(folder / "final" / "model.safetensors") for folder in (whole, killed)))
    assert lines(whole, "completions.jsonl") == lines(killed, "completions.jsonl")
    assert [untimed(line) for line in lines(whole, "metrics.jsonl")] == [
        untimed(line) for line in lines(killed, "metrics.jsonl")
    ]
    assert result.accuracy_before == lines(whole, "metrics.jsonl")[0]["eval/accuracy"]


def test_degenerate_groups_are_skipped_and_a_step_of_nothing_else_changes_no_weight(
    tmp_path: Path, config: MakeConfig
) -> None:
    @register("always-right")
    def always_right() -> Environment:
        return Environment([Task("t", "1a", "a")], Rubric({"accuracy": (lambda task, text: True, 1.0)}))

    train(config(output_dir=str(tmp_path), env="always-right", max_steps=1, save_steps=1))
    assert [line["advantage"] for line in lines(tmp_path, "completions.jsonl")] == [None] * 16
    (step,) = (line for line in lines(tmp_path, "metrics.jsonl") if "reward" in line)
    assert step["groups/degenerate_fraction"] == step["groups/all_correct"] == 1
    assert "loss" not in step
    tokenizer = toy_tokenizer()
    untouched = toy_model(tokenizer, seed=0)
    warm_start(untouched, tokenizer, [Task("t", "1a", "a")], steps=5, seed=0)
    final = load_file(tmp_path / "final" / "model.safetensors")
    assert all(torch.equal(tensor, untouched.state_dict()[name]) for name, tensor in final.items())


def test_unavailable_completions_take_no_part(tmp_path: Path, config: MakeConfig) -> None:
    class HalfBroken(Environment):
        async def score(self, task: Task, transcript: Transcript) -> Score:
            text = transcript[-1]["content"]
            if text[:1] in "acegi":
                return Score(None, verdict="unavailable", detail="the box broke")
            return Score(float(text == task.answer), {"accuracy": float(text == task.answer)}, text == task.answer)

    @register("half-broken")
    def half_broken() -> Environment:
        return HalfBroken([Task(letter, letter, letter) for letter in "abcdefghij"])

    train(config(output_dir=str(tmp_path), env="half-broken", warm_start_steps=8, max_steps=3))
    rows = lines(tmp_path, "completions.jsonl")
    broken = [row for row in rows if row["verdict"] == "unavailable"]
    assert broken
    assert all(row["reward"] is None and row["advantage"] is None for row in broken)
    steps = [line for line in lines(tmp_path, "metrics.jsonl") if "reward" in line]
    assert sum(line["unavailable"] for line in steps) == len(broken)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends_and_the_run_goes_on_as_if_uninterrupted(
    tmp_path: Path, config: MakeConfig, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    train(config(output_dir=str(tmp_path / "whole"), max_steps=4))

    original = train_module._Run.train_step

    async def signalled_in_step_three(run: Any, verifier: Any) -> dict[str, float]:
        if run.step == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        return await original(run, verifier)

    settings = config(output_dir=str(tmp_path / "stopped"), max_steps=4)
    handler = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr(train_module._Run, "train_step", signalled_in_step_three)
        result = train(settings)
    assert result.interrupted
    assert result.steps == 2
    assert signal.getsignal(number) == handler
    assert (tmp_path / "stopped" / "final" / "config.json").exists()
    resumed = train(settings.model_copy(update={"resume": True}))
    assert not resumed.interrupted
    files = (tmp_path / name / "final" / "model.safetensors" for name in ("whole", "stopped"))
    assert equal(*map(load_file, files))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"env": "eco"}, ["eco", "echo"]),
        ({"env_options": {"sise": 3}}, ["sise", "size"]),
        ({"env_options": {"size": 0}}, ["no training tasks"]),
        ({"env_options": {"held_out": 0}}, ["no held-out tasks", "eval_tasks"]),
        ({"model": "./no/such/model", "warm_start_steps": 0}, ["./no/such/model"]),
        ({"max_prompt_length": 1}, ["max_prompt_length"]),
        ({"device": "gpu7"}, ["gpu7"]),
    ],
)
def test_bad_input_is_the_users_error_and_leaves_no_folder(
    tmp_path: Path, config: MakeConfig, changes: dict[str, Any], says: list[str]
) -> None:
    with pytest.raises(UserError) as caught:
        train(config(output_dir=str(tmp_path / "run"), **changes))
    assert all(part in str(caught.value) for part in says)
    assert os.listdir(tmp_path) == []


def test_resuming_with_another_task_set_is_refused(tmp_path: Path, config: MakeConfig) -> None:
    train(config(output_dir=str(tmp_path), max_steps=1))
    with pytest.raises(UserError, match="40 tasks and there are 30"):
        train(config(output_dir=str(tmp_path), max_steps=2, resume=True, env_options={"size": 30}))


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def untimed(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if not name.startswith("time/") and name != "tokens_per_second"}
