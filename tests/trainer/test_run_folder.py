from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from acidtest.envs import UserError
from acidtest.trainer.config import TrainConfig, load_config
from acidtest.trainer.models import Policy
from acidtest.trainer.run_folder import RunFolder

MakeConfig = Callable[..., TrainConfig]


@pytest.fixture
def policy(tiny_model: Callable[..., Any], tokenizer: Any) -> Policy:
    return Policy(tiny_model(), tokenizer, (1,))


def test_the_written_config_is_the_run_again(tmp_path: Path, config: MakeConfig) -> None:
    settings = config(output_dir=str(tmp_path / "run"), env_options={"size": 12}, epsilon_high=0.3)
    folder = RunFolder(settings)
    assert load_config(folder.path / "config.toml") == settings


def test_environment_and_time_are_filled_in(tmp_path: Path, config: MakeConfig) -> None:
    folder = RunFolder(config(output_dir=str(tmp_path / "{env}-{time}")))
    assert folder.path.name.startswith("echo-20")


def test_a_folder_with_a_run_in_it_is_left_alone(tmp_path: Path, config: MakeConfig) -> None:
    settings = config(output_dir=str(tmp_path / "run"))
    RunFolder(settings)
    with pytest.raises(UserError, match="already holds a run"):
        RunFolder(settings)


def test_nothing_to_resume_is_said(tmp_path: Path, config: MakeConfig) -> None:
    with pytest.raises(UserError, match="no checkpoint"):
        RunFolder(config(output_dir=str(tmp_path / "run"), resume=True))
    assert not (tmp_path / "run").exists()


def test_checkpoints_load_with_from_pretrained(tmp_path: Path, config: MakeConfig, policy: Policy) -> None:
    folder = RunFolder(config(output_dir=str(tmp_path)))
    for path in (folder.save_checkpoint(3, policy, {"step": 3}), folder.save_final(policy)):
        loaded = AutoModelForCausalLM.from_pretrained(path)
        assert all(torch.equal(value, policy.model.state_dict()[name]) for name, value in loaded.state_dict().items())
        assert AutoTokenizer.from_pretrained(path).encode("1+1=") == policy.tokenizer.encode("1+1=")


def test_the_newest_checkpoint_is_by_number_and_never_half_a_one(
    tmp_path: Path, config: MakeConfig, policy: Policy
) -> None:
    folder = RunFolder(config(output_dir=str(tmp_path)))
    for step in (9, 10):
        folder.save_checkpoint(step, policy, {"step": step})
    (folder.checkpoints / "step-11").mkdir()
    (folder.checkpoints / ".step-12.partial").mkdir()
    newest = folder.newest_checkpoint()
    assert newest is not None
    assert newest.name == "step-10"


def test_saving_quietly(tmp_path: Path, config: MakeConfig, policy: Policy, capfd: pytest.CaptureFixture[str]) -> None:
    RunFolder(config(output_dir=str(tmp_path))).save_final(policy)
    assert capfd.readouterr() == ("", "")


def test_later_steps_are_forgotten_and_a_cut_line_too(tmp_path: Path, config: MakeConfig) -> None:
    folder = RunFolder(config(output_dir=str(tmp_path)))
    for step in (0, 1, 2, 3):
        folder.log_metrics(step, {"reward": step / 4})
    path = folder.path / "metrics.jsonl"
    path.write_text(path.read_text() + '{"step": 1, "rew')
    folder.forget_after(1)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"step": 0, "reward": 0.0},
        {"step": 1, "reward": 0.25},
    ]
