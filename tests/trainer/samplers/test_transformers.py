from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest
import torch

from acidtest.trainer.policy import completion_logprobs, pad_batch
from acidtest.trainer.samplers import Sample, SampleRequest, SamplingParams, derive_seed
from acidtest.trainer.samplers.transformers import TransformersSampler, draw

MakeModel = Callable[..., Any]
PROMPTS = [(5, 6, 7), (8,), (9, 10), (5, 6, 7)]


def requests(count: int = 12) -> list[SampleRequest]:
    return [SampleRequest(place, PROMPTS[place % 4], derive_seed("test", place)) for place in range(count)]


async def draw_all(
    sampler: TransformersSampler, wanted: list[SampleRequest], max_tokens: int = 12, temperature: float = 1.0
) -> dict[int, Sample]:
    params = SamplingParams(max_tokens, temperature)
    return {sample.index: sample async for sample in sampler.generate(wanted, params)}


@pytest.fixture
def sampler(tiny_model: MakeModel, tokenizer: Any) -> TransformersSampler:
    # Four ids end a completion, so that lengths differ.
    return TransformersSampler(tiny_model(), tokenizer, [1, 20, 30, 40], batch_size=5)


async def test_every_request_gets_one_sample_that_ends_as_it_says(sampler: TransformersSampler) -> None:
    samples = await draw_all(sampler, requests(40))
    assert sorted(samples) == list(range(40))
    for sample in samples.values():
        assert len(sample.token_ids) == len(sample.logprobs) <= 12
        ends = [token in sampler.eos_ids for token in sample.token_ids]
        assert not any(ends[:-1])
        assert sample.finish_reason == ("stop" if ends[-1] else "length")
        if sample.finish_reason == "length":
            assert len(sample.token_ids) == 12
    assert {sample.finish_reason for sample in samples.values()} == {"stop", "length"}
    assert len({len(sample.token_ids) for sample in samples.values()}) > 3


async def test_logprobs_are_the_trainers(sampler: TransformersSampler) -> None:
    wanted = requests()
    samples = await draw_all(sampler, wanted, temperature=0.8)
    drawn = [samples[request.index] for request in wanted]
    batch = pad_batch(
        [request.prompt_ids for request in wanted],
        [sample.token_ids for sample in drawn],
        [sample.logprobs for sample in drawn],
        [0.0] * len(drawn),
        torch.device("cpu"),
    )
    with torch.no_grad():
        ours_BT = completion_logprobs(sampler.model, batch, temperature=0.8)
    difference = (ours_BT - batch.sampler_logprobs_BT)[batch.mask_BT].abs().max()
    assert difference < 2e-5


async def test_a_sample_depends_on_its_seed_and_prompt_alone(sampler: TransformersSampler) -> None:
    wanted = requests()
    together = await draw_all(sampler, wanted)
    for request in wanted:
        alone = (await draw_all(sampler, [request]))[request.index]
        assert alone.token_ids == together[request.index].token_ids
    sampler.batch_size = 12
    reordered = await draw_all(sampler, wanted[::-1])
    assert {i: s.token_ids for i, s in reordered.items()} == {i: s.token_ids for i, s in together.items()}


async def test_different_seeds_differ(sampler: TransformersSampler) -> None:
    same_prompt = [SampleRequest(place, (5, 6), derive_seed(place)) for place in range(8)]
    samples = await draw_all(sampler, same_prompt)
    assert len({sample.token_ids for sample in samples.values()}) > 4


async def test_greedy_is_what_generate_finds(sampler: TransformersSampler) -> None:
    samples = await draw_all(sampler, requests(4), temperature=0.0)
    for index, prompt in enumerate(PROMPTS):
        ids = torch.tensor([prompt])
        theirs = sampler.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=sorted(sampler.eos_ids),
        )
        assert samples[index].token_ids == tuple(theirs[0, len(prompt) :].tolist())


async def test_short_completions_come_before_long_ones_of_the_same_batch(sampler: TransformersSampler) -> None:
    sampler.batch_size = 40
    params = SamplingParams(12, 1.0)
    lengths = [len(sample.token_ids) async for sample in sampler.generate(requests(40), params)]
    assert lengths == sorted(lengths)


async def test_leaving_early_stops_the_decoding(sampler: TransformersSampler) -> None:
    calls = 0
    forward = sampler.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return forward(*args, **kwargs)

    sampler.model.forward = counted
    async with aclosing(sampler.generate(requests(2000), SamplingParams(12, 1.0))) as stream:
        async for _ in stream:
            break
    assert calls < 2000 / sampler.batch_size, "more forward passes than there are batches: it went on to the end"
    ended = calls
    await draw_all(sampler, requests(2))
    assert calls > ended, "the sampler must work on after it was left"


async def test_a_failure_while_decoding_reaches_the_caller(sampler: TransformersSampler) -> None:
    with pytest.raises(IndexError):
        await draw_all(sampler, [SampleRequest(0, (10**6,), 1)])


async def test_the_model_keeps_its_training_mode(sampler: TransformersSampler) -> None:
    sampler.model.train()
    await draw_all(sampler, requests(2))
    assert sampler.model.training


async def test_new_weights_are_copied_and_named_in_the_samples(
    sampler: TransformersSampler, tiny_model: MakeModel
) -> None:
    other = tiny_model(seed=1)
    sampler.update_weights(other.named_parameters(), version=7)
    for name, parameter in sampler.model.named_parameters():
        assert torch.equal(parameter, other.get_parameter(name))
    samples = await draw_all(sampler, requests(3))
    assert {sample.version for sample in samples.values()} == {7}
    assert sampler.model.get_parameter("model.norm.weight").data_ptr() != other.model.norm.weight.data_ptr()


def test_draw_follows_the_softmax_at_its_temperature() -> None:
    logits_V = torch.tensor([1.0, 0.0, -1.0, 2.0])
    count = 20_000
    uniforms = [np.random.Generator(np.random.Philox(seed)).random(1) for seed in range(count)]
    ids_B, logprobs_B = draw(logits_V.expand(count, 4), 0.5, uniforms, 0)
    expected_V = torch.softmax(logits_V / 0.5, dim=0)
    found_V = torch.bincount(ids_B, minlength=4) / count
    # Four standard deviations of a binomial share.
    assert ((found_V - expected_V).abs() < 4 * (expected_V * (1 - expected_V) / count).sqrt()).all()
    torch.testing.assert_close(logprobs_B, expected_V.log()[ids_B])


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_a_token_of_probability_zero_is_never_drawn(uniform: float) -> None:
    logits_BV = torch.tensor([[-math.inf, 1.0, 2.0, -math.inf]])
    ids_B, logprobs_B = draw(logits_BV, 1.0, [np.array([uniform])], 0)
    assert ids_B.item() in {1, 2}
    assert logprobs_B.isfinite().all()
