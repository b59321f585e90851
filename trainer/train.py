"""The training loop: sample, score, learn.

Everything that decides the future of a run is in `_Run.state_dict`, so that a run that is killed resumes as if
nothing had happened. Left out so far: more than one process, other samplers than transformers, several turns.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from acidtest.envs import Environment, Task, UserError, Verifier, make

from .advantages import RewardPrior
from .config import TrainConfig
from .evaluate import Evaluation, evaluate
from .groups import Group, GroupPolicy, group_metrics
from .learner import Learner
from .models import TOY, Policy, load_policy, pick_device
from .policy import Batch, pad_batch
from .progress import Progress
from .rollout import Interrupted, prompt_ids_of, sample_groups
from .run_folder import STATE_FILE, RunFolder
from .samplers import Sampler, SamplingParams, derive_seed
from .samplers.transformers import TransformersSampler
from .step_metrics import completion_rows, rollout_metrics
from .task_stream import TaskStream
from .toy import warm_start


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended. Accuracies are held-out ones, None where they were not measured."""

    folder: RunFolder
    steps: int
    accuracy_before: float | None
    accuracy_after: float | None
    interrupted: bool
    seconds: float


def train(config: TrainConfig, progress: Progress | None = None) -> TrainResult:
    """Train as `config` says. Raises UserError for what the user can mend.

    SIGINT and SIGTERM end the run after saving the last finished step; a second SIGINT ends it at once.
    """
    started = time.monotonic()
    env = make(config.env, **config.env_options)
    run = _Run.start(config, env)
    with progress or Progress(config.max_steps, run.step + 1) as shown, _stop_signals(run), asyncio.Runner() as runner:
        interrupted = runner.run(run.go(shown))
    result = TrainResult(
        run.folder, run.step, run.accuracy_before, run.accuracy_after, interrupted, time.monotonic() - started
    )
    run.folder.save_summary(_summary(config, result))
    return result


@dataclass
class _Run:
    config: TrainConfig
    env: Environment
    folder: RunFolder
    policy: Policy
    learner: Learner
    sampler: Sampler
    stream: TaskStream
    eval_tasks: list[Task]
    prior: RewardPrior = field(default_factory=RewardPrior)
    step: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    stop_requested: bool = False

    @classmethod
    def start(cls, config: TrainConfig, env: Environment) -> _Run:
        """Load everything, or continue from the newest checkpoint. Bad input is found before the folder is made."""
        device = pick_device(config.device)
        stream = TaskStream(env.tasks("train"), config.seed)
        eval_tasks = list(env.tasks("test")[: config.eval_tasks]) if config.eval_tasks else []
        if config.eval_tasks and not eval_tasks:
            raise UserError(f"environment {config.env!r} has no held-out tasks; give it some or set eval_tasks to 0")
        # A resumed run takes its weights from the checkpoint, but its reference from the starting model.
        policy = load_policy(config.model, device, config.seed)
        _check_prompts(env, [*stream.tasks[:64], *eval_tasks], policy, config)
        folder = RunFolder(config)
        if config.model == TOY and config.warm_start_steps:
            warm_start(policy.model, policy.tokenizer, stream.tasks, config.warm_start_steps, config.seed)
        learner = Learner(policy.model, config)
        sampler = TransformersSampler(
            policy.model, policy.tokenizer, policy.eos_ids, batch_size=config.sampler_batch_size
        )
        run = cls(config, env, folder, policy, learner, sampler, stream, eval_tasks)
        if config.resume:
            run.restore()
        return run

    async def go(self, progress: Progress) -> bool:
        """All steps and evaluations; True when the user interrupted them."""
        interrupted = False
        async with Verifier(self.env, workers=self.config.workers) as verifier:
            try:
                await self.run_steps(verifier, progress)
            except Interrupted:
                interrupted = True
                progress.say(f"interrupted: saving step {self.step}")
        self.save()
        self.folder.save_final(self.policy)
        return interrupted

    async def run_steps(self, verifier: Verifier, progress: Progress) -> None:
        if self.step == 0 and self.eval_tasks:
            self.accuracy_before = (await self.evaluate(verifier, progress)).accuracy
        while self.step < self.config.max_steps:
            self.check_stop()
            metrics = await self.train_step(verifier)
            self.step += 1
            self.folder.log_metrics(self.step, metrics)
            progress.step(self.step, metrics)
            last = self.step == self.config.max_steps
            if self.eval_tasks and (last or _is_due(self.step, self.config.eval_steps)):
                self.accuracy_after = (await self.evaluate(verifier, progress)).accuracy
            if not last and _is_due(self.step, self.config.save_steps):
                self.save()

    async def train_step(self, verifier: Verifier) -> dict[str, float]:
        """One step: sample and score groups, turn them into a batch, learn from it."""
        config, number, started = self.config, self.step + 1, time.monotonic()
        before = self.stream.state_dict()
        tasks = self.stream.take(config.prompts_per_step)
        try:
            groups = await sample_groups(
                tasks,
                num_generations=config.num_generations,
                params=SamplingParams(config.max_completion_length, config.temperature),
                seed_parts=(config.seed, number),
                policy=self.policy,
                sampler=self.sampler,
                verifier=verifier,
                max_prompt_length=config.max_prompt_length,
                stopping=lambda: self.stop_requested,
            )
            self.check_stop()
        except Interrupted:
            self.stream.load_state_dict(before)
            raise
        sampled = time.monotonic()
        rules = GroupPolicy(config.degenerate, config.degenerate_on, config.scale_rewards, config.smooth_pseudo_count)
        advantages = rules.advantages(groups, self.prior)
        batch = self.batch(groups, advantages)
        torch.manual_seed(derive_seed(config.seed, number, "dropout") >> 1)
        learned = self.learner.learn(batch, number) if batch is not None else {}
        self.sampler.update_weights(self.policy.model.named_parameters(), number)
        ended = time.monotonic()
        prompts = [self.env.prompt(task) for task in tasks]
        self.folder.log_completions(completion_rows(number, groups, prompts, advantages))
        tokens = sum(len(sample.token_ids) for group in groups for sample in group.samples)
        return {
            **rollout_metrics(groups),
            **group_metrics(groups, rules),
            **learned,
            "tokens_per_second": tokens / (ended - started),
            "time/sample_and_score": sampled - started,
            "time/learn": ended - sampled,
        }

    def batch(self, groups: list[Group], advantages: list[torch.Tensor | None]) -> Batch | None:
        """The completions that take part in the step, or None when no group carries a signal."""
        rows = [
            (prompt_ids_of(self.env, group.task, self.policy, self.config.max_prompt_length), sample, float(advantage))
            for group, advantages_G in zip(groups, advantages, strict=True)
            if advantages_G is not None
            for sample, score, advantage in zip(group.samples, group.scores, advantages_G, strict=True)
            if score.reward is not None
        ]
        if not rows:
            return None
        return pad_batch(
            [prompt for prompt, _, _ in rows],
            [sample.token_ids for _, sample, _ in rows],
            [sample.logprobs for _, sample, _ in rows],
            [advantage for _, _, advantage in rows],
            self.policy.model.device,
        )

    async def evaluate(self, verifier: Verifier, progress: Progress) -> Evaluation:
        found = await evaluate(
            self.eval_tasks,
            policy=self.policy,
            sampler=self.sampler,
            verifier=verifier,
            max_prompt_length=self.config.max_prompt_length,
            max_completion_length=self.config.max_completion_length,
            stopping=lambda: self.stop_requested,
        )
        self.folder.log_metrics(self.step, found.metrics())
        progress.say(f"step {self.step}: held-out accuracy {found.accuracy:.3f} on {found.tasks} tasks")
        return found

    def check_stop(self) -> None:
        if self.stop_requested:
            raise Interrupted

    def save(self) -> None:
        self.folder.save_checkpoint(self.step, self.policy, self.state_dict())

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "accuracy_before": self.accuracy_before,
            "accuracy_after": self.accuracy_after,
            "stream": self.stream.state_dict(),
            "prior": self.prior.state_dict(),
            "optimizer": self.learner.optimizer.state_dict(),
        }

    def restore(self) -> None:
        checkpoint = self.folder.newest_checkpoint()
        if checkpoint is None:
            raise UserError(f"{self.folder.path} has no checkpoint to resume from; start it without resume")
        device = self.policy.model.device
        weights = load_policy(str(checkpoint), device, self.config.seed).model.state_dict()
        self.policy.model.load_state_dict(weights)
        state = torch.load(checkpoint / STATE_FILE, map_location=device, weights_only=True)
        self.step = state["step"]
        self.accuracy_before, self.accuracy_after = state["accuracy_before"], state["accuracy_after"]
        self.stream.load_state_dict(state["stream"])
        self.prior.load_state_dict(state["prior"])
        self.learner.optimizer.load_state_dict(state["optimizer"])
        self.folder.forget_after(self.step)


@contextmanager
def _stop_signals(run: _Run) -> Iterator[None]:
    def request(number: int, frame: FrameType | None) -> None:
        run.stop_requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _check_prompts(env: Environment, tasks: list[Task], policy: Policy, config: TrainConfig) -> None:
    for task in tasks:
        prompt_ids_of(env, task, policy, config.max_prompt_length)


def _is_due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _summary(config: TrainConfig, result: TrainResult) -> dict[str, Any]:
    return {
        "env": config.env,
        "model": config.model,
        "steps": result.steps,
        "accuracy_before": result.accuracy_before,
        "accuracy_after": result.accuracy_after,
        "interrupted": result.interrupted,
        "seconds": round(result.seconds, 1),
    }
