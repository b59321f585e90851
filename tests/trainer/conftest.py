"""A model small enough for a test, and an environment it can learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from acidtest.envs import Environment, Rubric, Task, register
from acidtest.trainer.config import TrainConfig
from acidtest.trainer.toy import toy_tokenizer

torch.set_num_threads(1)


def _says_answer(task: Task, text: str) -> bool:
    return text == task.answer


@register("echo")
def echo(size: int = 40, held_out: int = 20) -> Environment:
    """Repeat the letter that the prompt ends with; quickly learnt, and never by chance alone."""
    letters = "abcdefghij"
    tasks = [Task(f"echo-{place}", f"{place % 7}{letters[place % 10]}", letters[place % 10]) for place in range(size)]
    return Environment({"train": tasks, "test": tasks[:held_out]}, Rubric({"accuracy": (_says_answer, 1.0)}))


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return toy_tokenizer()


@pytest.fixture
def tiny_model(tokenizer: Any) -> Callable[..., Any]:
    """Makes a Llama of two layers and width 32 with weights from a seed."""

    def build(seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            initializer_range=0.3,
            max_position_embeddings=128,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        return LlamaForCausalLM(config).to(dtype)

    return build


@pytest.fixture
def config() -> Callable[..., TrainConfig]:
    """Makes the configuration of a run of the toy model on `echo` that takes seconds."""

    def build(**changes: Any) -> TrainConfig:
        values: dict[str, Any] = {
            "model": "toy",
            "env": "echo",
            "device": "cpu",
            "warm_start_steps": 5,
            "max_steps": 2,
            "prompts_per_step": 4,
            "num_generations": 4,
            "max_prompt_length": 8,
            "max_completion_length": 3,
            "learning_rate": 1e-3,
            "eval_tasks": 10,
        }
        return TrainConfig(**{**values, **changes})

    return build
