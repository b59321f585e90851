"""The policy's forward pass: the log-probability of each completion token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .precision import autocast


@dataclass(frozen=True, slots=True)
class Batch:
    """The completions of one optimizer step: prompts padded left, completions padded right.

    prompt_BS, completion_BT: token ids. prompt_mask_BS, mask_BT: True where there is a token.
    sampler_logprobs_BT: as the sampler reported them. advantages_B: one number a completion.
    """

    prompt_BS: torch.Tensor
    prompt_mask_BS: torch.Tensor
    completion_BT: torch.Tensor
    mask_BT: torch.Tensor
    sampler_logprobs_BT: torch.Tensor
    advantages_B: torch.Tensor

    def __len__(self) -> int:
        return self.completion_BT.shape[0]

    def rows(self, index: torch.Tensor) -> Batch:
        """The completions at `index`, without columns that are padding in all of them."""
        prompt_width = int(self.prompt_mask_BS[index].sum(dim=1).max())
        width = int(self.mask_BT[index].sum(dim=1).max())
        return Batch(
            self.prompt_BS[index, self.prompt_BS.shape[1] - prompt_width :],
            self.prompt_mask_BS[index, self.prompt_mask_BS.shape[1] - prompt_width :],
            self.completion_BT[index, :width],
            self.mask_BT[index, :width],
            self.sampler_logprobs_BT[index, :width],
            self.advantages_B[index],
        )


def pad_batch(
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    sampler_logprobs: Sequence[Sequence[float]],
    advantages: Sequence[float],
    device: torch.device,
) -> Batch:
    """One padded `Batch` of B completions on `device`; all four arguments have length B."""
    prompt_width, width = max(map(len, prompts)), max(map(len, completions))
    size = len(prompts)
    prompt_BS = torch.zeros(size, prompt_width, dtype=torch.long)
    prompt_mask_BS = torch.zeros(size, prompt_width, dtype=torch.bool)
    completion_BT = torch.zeros(size, width, dtype=torch.long)
    mask_BT = torch.zeros(size, width, dtype=torch.bool)
    logprobs_BT = torch.zeros(size, width)
    for row, (prompt, completion, logprobs) in enumerate(zip(prompts, completions, sampler_logprobs, strict=True)):
        prompt_BS[row, prompt_width - len(prompt) :] = torch.tensor(prompt)
        prompt_mask_BS[row, prompt_width - len(prompt) :] = True
        completion_BT[row, : len(completion)] = torch.tensor(completion)
        mask_BT[row, : len(completion)] = True
        logprobs_BT[row, : len(completion)] = torch.tensor(logprobs)
    advantages_B = torch.tensor(advantages, dtype=torch.float32)
    tensors = (prompt_BS, prompt_mask_BS, completion_BT, mask_BT, logprobs_BT, advantages_B)
    return Batch(*(tensor.to(device) for tensor in tensors))


def completion_logprobs(model: Any, batch: Batch, temperature: float) -> torch.Tensor:
    """Log-probabilities [B, T] of the completion tokens at `temperature`, with gradient; padding holds noise.

    Divided by the sampling temperature, because that is the distribution that the tokens came from.
    """
    attention = torch.cat([batch.prompt_mask_BS, batch.mask_BT], dim=1).long()
    width = batch.completion_BT.shape[1]
    with autocast(batch.completion_BT.device):
        logits = model(
            input_ids=torch.cat([batch.prompt_BS, batch.completion_BT], dim=1),
            attention_mask=attention,
            position_ids=(attention.cumsum(dim=1) - 1).clamp(min=0),
            use_cache=False,
            logits_to_keep=width + 1,
        ).logits
    # Half-precision logits are widened before the softmax; float64 ones stay as they are.
    logits_BTV = logits[:, :-1].to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    chosen_BT: torch.Tensor = logits_BTV.gather(2, batch.completion_BT[:, :, None])[:, :, 0]
    total_BT: torch.Tensor = logits_BTV.logsumexp(dim=2)
    return chosen_BT - total_BT
