from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any

import pytest
import torch

from acidtest.envs import Environment, Rubric, Task, UserError, Verifier, make
from acidtest.envs.task import Message, Transcript
from acidtest.trainer.models import Policy
from acidtest.trainer.rollout import Interrupted, sample_groups
from acidtest.trainer.samplers import Sample, Sampler, SampleRequest, SamplingParams
from acidtest.trainer.samplers.transformers import TransformersSampler

TASKS = [Task("one", "1a", "a"), Task("two", "2b", "b"), Task("three", "3c", "c")]


@pytest.fixture
def policy(tiny_model: Callable[..., Any], tokenizer: Any) -> Policy:
    return Policy(tiny_model(), tokenizer, (1, 20, 30))


async def sample(policy: Policy, env: Environment, sampler: Sampler | None = None, **changes: Any) -> Any:
    settings: dict[str, Any] = {
        "num_generations": 4,
        "params": SamplingParams(5, 1.0),
        "seed_parts": (0, 1),
        "max_prompt_length": 8,
    }
    own = sampler or TransformersSampler(policy.model, policy.tokenizer, policy.eos_ids, batch_size=5)
    async with Verifier(env) as verifier:
        return await sample_groups(TASKS, policy=policy, sampler=own, verifier=verifier, **{**settings, **changes})


async def test_groups_come_in_the_order_of_the_tasks_and_scores_in_that_of_the_samples(policy: Policy) -> None:
    seen: dict[str, float] = {}

    def tell_apart(task: Task, text: str) -> float:
        return seen.setdefault(f"{task.id}:{text}", len(seen) / 100)

    groups = await sample(policy, Environment(TASKS, Rubric({"accuracy": (tell_apart, 1.0)})))
    assert [group.task.id for group in groups] == ["one", "two", "three"]
    for place, group in enumerate(groups):
        assert [one.index for one in group.samples] == list(range(place * 4, place * 4 + 4))
        for one, score in zip(group.samples, group.scores, strict=True):
            assert score.reward == seen[f"{group.task.id}:{one.text}"]


async def test_a_sample_depends_on_the_seed_the_step_and_the_task_alone(policy: Policy) -> None:
    env = make("echo")
    first, again, later = [await sample(policy, env, seed_parts=(0, step)) for step in (1, 1, 2)]
    assert [group.samples for group in first] == [group.samples for group in again]
    assert [group.samples for group in first] != [group.samples for group in later]


class SlowSampler:
    """Hands out one sample and the rest only when that one has been scored."""

    def __init__(self) -> None:
        self.scored = asyncio.Event()

    async def generate(self, requests: Sequence[SampleRequest], params: SamplingParams) -> AsyncGenerator[Sample, None]:
        for place, request in enumerate(requests):
            if place == 1:
                await asyncio.wait_for(self.scored.wait(), timeout=30)
            yield Sample(request.index, (5,), (-1.0,), "a", "stop", 0)

    def update_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]], version: int) -> None: ...

    def sleep(self) -> None: ...

    def wake(self) -> None: ...


async def test_a_completion_is_scored_while_others_are_still_being_sampled(policy: Policy) -> None:
    sampler = SlowSampler()

    def scored(task: Task, text: str) -> float:
        sampler.scored.set()
        return 1.0

    groups = await sample(policy, Environment(TASKS, Rubric({"accuracy": (scored, 1.0)})), sampler)
    assert sum(len(group.scores) for group in groups) == 12


async def test_a_prompt_that_is_too_long_is_named_before_anything_is_sampled(policy: Policy) -> None:
    with pytest.raises(UserError, match=r"'one'.*2 tokens.*max_prompt_length is 1"):
        await sample(policy, make("echo"), max_prompt_length=1)


async def test_stopping_interrupts_and_leaves_no_task_behind(policy: Policy) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(Interrupted):
        await sample(policy, make("echo"), stopping=lambda: True)
    assert asyncio.all_tasks() == before


async def test_a_checker_that_raises_ends_the_rollout_with_its_own_error(policy: Policy) -> None:
    def broken(task: Task, text: str) -> float:
        raise ZeroDivisionError("the checker divides by zero")

    with pytest.raises(ZeroDivisionError, match="divides"):
        await sample(policy, Environment(TASKS, Rubric({"accuracy": (broken, 1.0)})))


async def test_several_turns_are_refused_by_name(policy: Policy) -> None:
    class Talkative(Environment):
        name = "talkative"

        async def respond(self, task: Task, transcript: Transcript) -> list[Message] | None:
            return [{"role": "user", "content": "go on"}]

    with pytest.raises(UserError, match="'talkative' has several turns"):
        await sample(policy, Talkative(TASKS))
