"""What a sampler is: token ids in, token ids out."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are drawn. temperature 0 means greedy; max_tokens counts new tokens."""

    max_tokens: int
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One completion to draw: the index that the caller knows it by, the prompt's token ids and a seed."""

    index: int
    prompt_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion. token_ids and logprobs have the same length; the end token is part of both.

    logprobs: natural log-probabilities at the temperature that was used (0 for greedy).
    finish_reason: `stop` when the model ended it, `length` when max_tokens did.
    version: the policy version (`update_weights`) that drew it.
    """

    index: int
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    finish_reason: Literal["stop", "length"]
    version: int


class Sampler(Protocol):
    """Draws completions from the current policy."""

    def generate(self, requests: Sequence[SampleRequest], params: SamplingParams) -> AsyncGenerator[Sample, None]:
        """Yield one sample a request, each as soon as it ends, in any order.

        The same seed, prompt and weights give the same completion, whatever else is in the batch.
        """
        ...

    def update_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Use these weights from now on."""
        ...

    def sleep(self) -> None:
        """Give back accelerator memory until `wake`."""
        ...

    def wake(self) -> None:
        """Take it again."""
        ...


def derive_seed(*parts: object) -> int:
    """A 64-bit seed from a hash of `parts`: the same everywhere, and unrelated for neighbouring parts."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
