"""The model of the demo: a transformer of about a million parameters that reads characters.

It knows nothing at first. A short supervised warm start teaches it that a completion is an answer followed by the
end token, and some of the answers; the rest is left to reinforcement learning. Saved, it is an ordinary Hugging
Face folder.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any

import torch

from acidtest.envs import Task, UserError

END = "<|end|>"
UNKNOWN = "<|unk|>"
WARM_START_BATCH = 64
WARM_START_RATE = 1e-3


def toy_tokenizer() -> Any:
    """A tokenizer with one token for each printable ASCII character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    letters = [UNKNOWN, END, *string.printable]
    tokenizer = Tokenizer(models.WordLevel({letter: index for index, letter in enumerate(letters)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, unk_token=UNKNOWN
    )


def toy_model(tokenizer: Any, seed: int) -> Any:
    """A freshly initialised Llama of two layers and width 192, about 0.9 million parameters."""
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)  # type: ignore[no-untyped-call]


def warm_start(model: Any, tokenizer: Any, tasks: Sequence[Task], steps: int, seed: int) -> None:
    """Teach `model` prompt -> answer + end on random `tasks`, `steps` batches of 64, by cross-entropy.

    Raises UserError for a task whose prompt is no plain text or that has no answer.
    """
    choose = random.Random(f"warm start:{seed}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=WARM_START_RATE)
    model.train()
    for _ in range(steps):
        batch = [_example(tokenizer, task) for task in choose.choices(tasks, k=WARM_START_BATCH)]
        width = max(len(prompt) + len(answer) for prompt, answer in batch)
        ids = torch.full((len(batch), width), tokenizer.pad_token_id)
        labels = torch.full_like(ids, -100)
        for row, (prompt, answer) in enumerate(batch):
            length = len(prompt) + len(answer)
            ids[row, :length] = torch.tensor(prompt + answer)
            labels[row, len(prompt) : length] = torch.tensor(answer)
        ids, labels = ids.to(model.device), labels.to(model.device)
        # Padding is on the right, so causal attention never sees it.
        model(input_ids=ids, labels=labels, use_cache=False).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def _example(tokenizer: Any, task: Task) -> tuple[list[int], list[int]]:
    if not isinstance(task.prompt, str) or task.answer is None:
        raise UserError(f"the toy model cannot warm-start on task {task.id!r}: it needs a text prompt and an answer")
    return tokenizer.encode(task.prompt), [*tokenizer.encode(task.answer), tokenizer.eos_token_id]
