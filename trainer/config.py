"""Every setting of a training run, its default and its meaning."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from acidtest.envs import UserError
from acidtest.envs.errors import unknown_name

from .groups import Degenerate

DEMO_CONFIG = Path(__file__).parent / "demo.toml"
"""What `acidtest train` runs when it is given no configuration."""


class TrainConfig(BaseModel):
    """A training run. Names are TRL's where the meaning is the same."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model: str
    """Folder or hub name of the model to train, or `toy`: a transformer of a million parameters, made on the spot."""

    output_dir: str = "runs/{env}-{time}"
    """Folder of the run; `{env}` and `{time}` are filled in. It must not hold another run unless `resume` is set."""

    env: str = "arithmetic"
    """Name of the environment; `acidtest envs` lists them."""

    env_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the environment: a table in the file, `--env-option key=value` on the command line."""

    seed: int = Field(0, ge=0)
    """Decides task order, sampling and the toy model; equal seeds give equal runs on the same machine."""

    algorithm: Literal["grpo"] = "grpo"
    """The learning algorithm."""

    sampler: Literal["transformers"] = "transformers"
    """What draws completions."""

    max_steps: int = Field(100, ge=1)
    """Training steps: each samples, scores and learns once."""

    prompts_per_step: int = Field(8, ge=1)
    """Tasks drawn for a step."""

    num_generations: int = Field(8, ge=2)
    """Completions sampled for each task: the size G of a group."""

    max_prompt_length: int = Field(1024, ge=1)
    """Longest prompt in tokens; a longer one is refused by name."""

    max_completion_length: int = Field(256, ge=1)
    """Longest completion in tokens."""

    temperature: float = Field(1.0, gt=0)
    """Sampling temperature of training; evaluation is greedy."""

    learning_rate: float = Field(1e-6, gt=0)
    """Peak learning rate of AdamW."""

    lr_scheduler_type: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate after the warm-up; linear and cosine end at 0."""

    warmup_steps: int = Field(0, ge=0)
    """Steps over which the learning rate rises linearly to its peak."""

    weight_decay: float = Field(0.0, ge=0)
    """AdamW's weight decay."""

    adam_beta1: float = Field(0.9, ge=0, lt=1)
    """AdamW's first decay rate."""

    adam_beta2: float = Field(0.999, ge=0, lt=1)
    """AdamW's second decay rate."""

    max_grad_norm: float = Field(1.0, gt=0)
    """Gradients are scaled down to this norm."""

    per_device_train_batch_size: int = Field(16, ge=1)
    """Completions in one forward and backward pass; gradients accumulate until the step's completions are done."""

    sampler_batch_size: int = Field(64, ge=1)
    """Completions decoded at once."""

    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, more time."""

    num_iterations: int = Field(1, ge=1)
    """Optimizer steps on the same completions; from the second on the ratio is clipped."""

    loss_type: Literal["grpo", "dapo", "dr_grpo"] = "grpo"
    """How token losses are averaged: per completion then over completions, over all tokens, or by a fixed length."""

    epsilon: float = Field(0.2, gt=0, lt=1)
    """The ratio is clipped below at 1 - epsilon."""

    epsilon_high: float | None = Field(None, gt=0)
    """The ratio is clipped above at 1 + epsilon_high; None takes epsilon."""

    beta: float = Field(0.0, ge=0)
    """Weight of the KL term to the starting model; 0 holds no reference model."""

    sampler_importance_cap: float | None = Field(2.0, gt=0)
    """Cap of the weight that corrects for a sampler whose log-probs differ from the trainer's; None: no weight."""

    scale_rewards: Literal["group", "none"] = "group"
    """`group` divides advantages by the group's standard deviation, `none` (Dr. GRPO) does not."""

    degenerate: Degenerate = "skip"
    """A group whose outcomes are all equal leaves the batch, is smoothed toward a running prior, or is kept."""

    degenerate_on: Literal["outcome", "reward"] = "outcome"
    """What must be equal for a group to be degenerate: the accuracy part (else the reward), or the whole reward."""

    smooth_pseudo_count: float = Field(4.0, gt=0)
    """With `degenerate = "smooth"`: how many completions the prior counts as."""

    eval_steps: int = Field(0, ge=0)
    """Evaluate every so many steps; 0 evaluates before and after only."""

    eval_tasks: int = Field(200, ge=0)
    """Held-out tasks of an evaluation, answered greedily; 0 evaluates never."""

    save_steps: int = Field(0, ge=0)
    """Save a checkpoint every so many steps; 0 saves at the end only."""

    resume: bool = False
    """Continue the run in `output_dir` from its newest checkpoint."""

    device: str = "auto"
    """Where torch computes: `auto`, `cpu`, `cuda`, ..."""

    workers: int | None = Field(None, ge=1)
    """Completions scored at once; None means one more than the CPUs."""

    warm_start_steps: int = Field(0, ge=0)
    """With `model = "toy"`: supervised steps that teach the answer format before the run."""

    @field_validator("model", "env", "output_dir")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it is empty; give it a value")
        return value

    @model_validator(mode="after")
    def _toy_only(self) -> Self:
        if self.warm_start_steps and self.model != "toy":
            raise ValueError(f"warm_start_steps is for model = 'toy', not for {self.model!r}; set it to 0")
        return self


def load_config(path: Path) -> TrainConfig:
    """Read a TOML file. Raises UserError in one sentence: the file, the field, the nearest valid name."""
    if not path.is_file():
        raise UserError(f"there is no configuration file {path}; give the path of a TOML file")
    try:
        values = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error
    for name in values:
        if name not in TrainConfig.model_fields:
            raise UserError(f"{path}: {unknown_name('setting', name, TrainConfig.model_fields)}")
    try:
        return TrainConfig(**values)
    except ValidationError as error:
        raise UserError(f"{path}: {describe(error)}") from error


def describe(error: ValidationError) -> str:
    """The first problem of a pydantic error as one sentence."""
    problem = error.errors()[0]
    name = ".".join(map(str, problem["loc"]))
    if problem["type"] == "missing":
        return f"the setting {name!r} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{name} = {problem['input']!r}: {message}" if name else message
