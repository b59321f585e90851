"""Sampling with a transformers model, wherever torch runs.

A decode loop of our own around the model's forward pass, because `generate` can neither draw each row from its
own seed, nor hand out a completion as soon as it ends, nor drop finished rows. Left out: beam search, sampling
penalties, stop strings, and models that are not decoder-only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..precision import autocast
from .base import Sample, SampleRequest, SamplingParams


@dataclass(slots=True)
class _Row:
    request: SampleRequest
    uniforms: np.ndarray[Any, np.dtype[np.float64]]
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class TransformersSampler:
    """Draws completions from `model`, which may be the very model that is being trained.

    model: a decoder-only transformers model. tokenizer: turns ids into text. eos_ids: ids that end a completion.
    batch_size: rows decoded at once.
    """

    def __init__(self, model: Any, tokenizer: Any, eos_ids: Iterable[int], *, batch_size: int = 64) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.eos_ids = frozenset(eos_ids)
        self.batch_size = batch_size
        self.version = 0

    async def generate(self, requests: Sequence[SampleRequest], params: SamplingParams) -> AsyncGenerator[Sample, None]:
        """Yield one sample a request, each as soon as it ends; leaving the iteration stops the decoding."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Sample | None] = asyncio.Queue()
        stop = threading.Event()

        def work() -> None:
            try:
                for sample in self._decode_all(requests, params, stop.is_set):
                    loop.call_soon_threadsafe(queue.put_nowait, sample)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        worker = asyncio.create_task(asyncio.to_thread(work))
        try:
            while (sample := await queue.get()) is not None:
                yield sample
        finally:
            stop.set()
            await worker

    def update_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Copy the weights in place; a tensor that already is the model's own costs nothing."""
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, tensor in named_tensors:
                if own[name].data_ptr() != tensor.data_ptr():
                    own[name].copy_(tensor)
        self.version = version

    def sleep(self) -> None:
        """Nothing to give back: the weights are the trainer's."""

    def wake(self) -> None:
        """Nothing to take."""

    def _decode_all(
        self, requests: Sequence[SampleRequest], params: SamplingParams, stopped: Callable[[], bool]
    ) -> Iterator[Sample]:
        was_training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode(), autocast(self.model.device):
                for start in range(0, len(requests), self.batch_size):
                    if stopped():
                        return
                    yield from self._decode(requests[start : start + self.batch_size], params, stopped)
        finally:
            self.model.train(was_training)

    def _decode(
        self, requests: Sequence[SampleRequest], params: SamplingParams, stopped: Callable[[], bool]
    ) -> Iterator[Sample]:
        rows = [_Row(request, _uniforms(request.seed, params.max_tokens)) for request in requests]
        logits_BV, cache, attention_BT = self._prefill([row.request.prompt_ids for row in rows])
        while rows and not stopped():
            ids_B, logprobs_B = draw(
                logits_BV, params.temperature, [row.uniforms for row in rows], len(rows[0].token_ids)
            )
            keep = []
            for position, (row, token, logprob) in enumerate(
                zip(rows, ids_B.tolist(), logprobs_B.tolist(), strict=True)
            ):
                row.token_ids.append(token)
                row.logprobs.append(logprob)
                if token in self.eos_ids or len(row.token_ids) == params.max_tokens:
                    yield self._sample(row)
                else:
                    keep.append(position)
            if not keep:
                return
            if len(keep) < len(rows):
                index = torch.tensor(keep, device=ids_B.device)
                rows = [rows[position] for position in keep]
                cache.batch_select_indices(index)
                attention_BT, ids_B = attention_BT[index], ids_B[index]
            attention_BT = torch.cat([attention_BT, attention_BT.new_ones(len(rows), 1)], dim=1)
            out = self.model(
                input_ids=ids_B[:, None],
                attention_mask=attention_BT,
                position_ids=attention_BT.sum(dim=1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            )
            logits_BV = out.logits[:, -1]

    def _prefill(self, prompts: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, Any, torch.Tensor]:
        """Logits [B, V] after each prompt, the cache and the attention mask; equal prompts are computed once."""
        unique = list(dict.fromkeys(prompts))
        width = max(map(len, unique))
        device = self.model.device
        ids_PT = torch.zeros(len(unique), width, dtype=torch.long, device=device)
        attention_PT = torch.zeros_like(ids_PT)
        for row, prompt in enumerate(unique):
            ids_PT[row, width - len(prompt) :] = torch.tensor(prompt, device=device)
            attention_PT[row, width - len(prompt) :] = 1
        out = self.model(
            input_ids=ids_PT,
            attention_mask=attention_PT,
            position_ids=(attention_PT.cumsum(dim=1) - 1).clamp(min=0),
            use_cache=True,
            logits_to_keep=1,
        )
        places = {prompt: row for row, prompt in enumerate(unique)}
        index = torch.tensor([places[prompt] for prompt in prompts], device=device)
        out.past_key_values.batch_select_indices(index)
        return out.logits[index, -1], out.past_key_values, attention_PT[index]

    def _sample(self, row: _Row) -> Sample:
        ended = row.token_ids[-1] in self.eos_ids
        return Sample(
            row.request.index,
            tuple(row.token_ids),
            tuple(row.logprobs),
            self.tokenizer.decode(row.token_ids, skip_special_tokens=True),
            "stop" if ended else "length",
            self.version,
        )


def draw(
    logits_BV: torch.Tensor, temperature: float, uniforms: Sequence[np.ndarray[Any, Any]], step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids [B] and their log-probs [B]: greedy at temperature 0, else the inverse of the CDF.

    One uniform number a row and token decides, so a row's draw does not depend on its neighbours.
    """
    if temperature == 0:
        ids_B = logits_BV.argmax(dim=1)
        return ids_B, torch.zeros_like(ids_B, dtype=torch.float32)
    logprobs_BV = torch.log_softmax(logits_BV.float() / temperature, dim=1)
    cdf_BV = logprobs_BV.double().exp().cumsum(dim=1)
    threshold_B = torch.tensor([float(row[step]) for row in uniforms], dtype=torch.float64, device=cdf_BV.device)
    # Scaled by the last entry because rounding leaves it a hair off 1.
    ids_B1 = torch.searchsorted(cdf_BV, (threshold_B * cdf_BV[:, -1])[:, None], right=True)
    ids_B1 = ids_B1.clamp(max=logits_BV.shape[1] - 1)
    return ids_B1[:, 0], logprobs_BV.gather(1, ids_B1)[:, 0]


def _uniforms(seed: int, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.Generator(np.random.Philox(seed)).random(count)
