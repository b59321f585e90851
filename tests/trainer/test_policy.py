from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from acidtest.trainer.policy import Batch, completion_logprobs, pad_batch

CPU = torch.device("cpu")
PROMPTS = [(5, 6, 7), (8,), (9, 10)]
COMPLETIONS = [(11, 12), (13, 14, 15, 1), (16,)]


def batch() -> Batch:
    logprobs = [[-0.1 * place for place in range(len(ids))] for ids in COMPLETIONS]
    return pad_batch(PROMPTS, COMPLETIONS, logprobs, [1.0, -1.0, 0.5], CPU)


def test_prompts_are_padded_left_and_completions_right() -> None:
    padded = batch()
    assert padded.prompt_BS.tolist() == [[5, 6, 7], [0, 0, 8], [0, 9, 10]]
    assert padded.prompt_mask_BS.tolist() == [[True] * 3, [False, False, True], [False, True, True]]
    assert padded.completion_BT.tolist() == [[11, 12, 0, 0], [13, 14, 15, 1], [16, 0, 0, 0]]
    assert padded.mask_BT.sum(dim=1).tolist() == [2, 4, 1]
    assert padded.advantages_B.tolist() == [1.0, -1.0, 0.5]


def test_rows_drops_columns_that_are_padding_in_all_of_them() -> None:
    part = batch().rows(torch.tensor([2, 0]))
    assert part.prompt_BS.tolist() == [[0, 9, 10], [5, 6, 7]]
    assert part.completion_BT.tolist() == [[16, 0], [11, 12]]
    assert part.advantages_B.tolist() == [0.5, 1.0]
    assert len(part) == 2


def test_logprobs_are_those_of_each_completion_alone(tiny_model: Callable[..., Any]) -> None:
    model = tiny_model(dtype=torch.float64).eval()
    padded = batch()
    with torch.no_grad():
        together_BT = completion_logprobs(model, padded, temperature=0.7)
        for row, (prompt, completion) in enumerate(zip(PROMPTS, COMPLETIONS, strict=True)):
            logits_TV = model(input_ids=torch.tensor([[*prompt, *completion]])).logits[0] / 0.7
            alone_T = torch.log_softmax(logits_TV, dim=1)[len(prompt) - 1 : -1].gather(
                1, torch.tensor(completion)[:, None]
            )[:, 0]
            torch.testing.assert_close(together_BT[row, : len(completion)], alone_T, rtol=0, atol=1e-6)
