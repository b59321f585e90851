"""The learning half of a step: a batch in, one or more optimizer steps, metrics out."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch

from .config import TrainConfig
from .losses import LossInput, LossScale, policy_loss
from .policy import Batch, completion_logprobs


class Learner:
    """Owns the policy, its reference and the optimizer.

    model: the policy, trained in place. With `beta` 0 no reference is held.
    """

    def __init__(self, model: Any, config: TrainConfig) -> None:
        self.model = model
        self.config = config
        self.reference = copy.deepcopy(model).eval().requires_grad_(False) if config.beta else None
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable()
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            betas=(config.adam_beta1, config.adam_beta2),
            weight_decay=config.weight_decay,
        )

    def learn(self, batch: Batch, step: int) -> dict[str, float]:
        """`num_iterations` optimizer steps on `batch`; metrics are those of the last one."""
        rate = learning_rate(self.config, step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        old_BT = self._all_logprobs(self.model, batch) if self.config.num_iterations > 1 else None
        ref_BT = self._all_logprobs(self.reference, batch) if self.reference is not None else None
        metrics: dict[str, float] = {}
        for _ in range(self.config.num_iterations):
            metrics = self.accumulate(batch, old_BT, ref_BT)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
            metrics["grad_norm"] = float(norm)
            if not math.isfinite(metrics["grad_norm"]):
                raise FloatingPointError(
                    f"the gradient of step {step} is {metrics['grad_norm']}; lower learning_rate or check the rewards"
                )
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return {**metrics, "learning_rate": rate}

    def accumulate(
        self, batch: Batch, old_BT: torch.Tensor | None = None, ref_BT: torch.Tensor | None = None
    ) -> dict[str, float]:
        """Add the gradient of the whole step's loss to the parameters, micro-batch by micro-batch.

        old_BT, ref_BT: log-probs [B, T] of the policy at the start of the step (None: it still is that policy)
        and of the reference (None: no KL term).
        """
        config = self.config
        self.model.train()
        lengths_B = batch.mask_BT.sum(dim=1)
        scale = LossScale(int((lengths_B > 0).sum()), int(lengths_B.sum()), config.max_completion_length)
        totals: dict[str, torch.Tensor] = {}
        for index in self._micro_batches(batch):
            micro = batch.rows(index)
            width = micro.completion_BT.shape[1]
            logprobs_BT = completion_logprobs(self.model, micro, config.temperature)
            inputs = LossInput(
                logprobs_BT,
                logprobs_BT.detach() if old_BT is None else old_BT[index, :width],
                micro.sampler_logprobs_BT,
                None if ref_BT is None else ref_BT[index, :width],
                micro.advantages_B[:, None].expand_as(logprobs_BT),
                micro.mask_BT,
            )
            loss, metrics = policy_loss(
                inputs,
                scale,
                loss_type=config.loss_type,
                epsilon=config.epsilon,
                epsilon_high=config.epsilon if config.epsilon_high is None else config.epsilon_high,
                beta=config.beta,
                importance_cap=config.sampler_importance_cap,
            )
            loss.backward()  # type: ignore[no-untyped-call]
            for name, value in {"loss": loss.detach(), **metrics}.items():
                totals[name] = totals.get(name, torch.zeros_like(value)) + value
        return {name: float(value) for name, value in totals.items()}

    @torch.no_grad()
    def _all_logprobs(self, model: Any, batch: Batch) -> torch.Tensor:
        indices = self._micro_batches(batch)
        parts = [completion_logprobs(model, batch.rows(index), self.config.temperature) for index in indices]
        logprobs_BT = parts[0].new_zeros(batch.completion_BT.shape)
        for index, part in zip(indices, parts, strict=True):
            logprobs_BT[index, : part.shape[1]] = part
        return logprobs_BT

    def _micro_batches(self, batch: Batch) -> list[torch.Tensor]:
        # Neighbours of like length waste the least padding.
        lengths_B = batch.mask_BT.sum(dim=1) + batch.prompt_mask_BS.sum(dim=1)
        order_B = lengths_B.argsort(stable=True)
        return list(torch.split(order_B, self.config.per_device_train_batch_size))


def learning_rate(config: TrainConfig, step: int) -> float:
    """The learning rate of `step` (from 1): linear warm-up, then the schedule; a function of the step alone."""
    if step <= config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    if config.lr_scheduler_type == "constant":
        return config.learning_rate
    progress = (step - 1 - config.warmup_steps) / max(config.max_steps - config.warmup_steps, 1)
    factor = 1 - progress if config.lr_scheduler_type == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.learning_rate * max(factor, 0.0)
