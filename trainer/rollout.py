"""Sampling and scoring: tasks in, scored groups out. A completion is scored while others are still sampled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from acidtest.envs import Environment, Score, Task, UserError, Verifier
from acidtest.envs.task import Message

from .groups import Group
from .models import Policy
from .samplers import Sample, Sampler, SampleRequest, SamplingParams, derive_seed


class Interrupted(Exception):
    """The user asked the run to stop; whatever was being sampled is dropped."""


async def sample_groups(
    tasks: Sequence[Task],
    *,
    num_generations: int,
    params: SamplingParams,
    seed_parts: tuple[object, ...],
    policy: Policy,
    sampler: Sampler,
    verifier: Verifier,
    max_prompt_length: int,
    stopping: Callable[[], bool] = lambda: False,
) -> list[Group]:
    """One group of `num_generations` scored completions a task, in the order of `tasks`.

    Each sample's seed is derived from `seed_parts`, the task's id and the sample's index alone. Raises
    UserError for a prompt that is too long, and Interrupted when `stopping` turns true.
    """
    requests = []
    for place, task in enumerate(tasks):
        prompt_ids = prompt_ids_of(verifier.env, task, policy, max_prompt_length)
        for index in range(num_generations):
            seed = derive_seed(*seed_parts, task.id, index)
            requests.append(SampleRequest(place * num_generations + index, prompt_ids, seed))
    samples: dict[int, Sample] = {}
    scoring: dict[int, asyncio.Task[Score]] = {}
    try:
        async with aclosing(sampler.generate(requests, params)) as stream:
            async for sample in stream:
                if stopping():
                    raise Interrupted
                samples[sample.index] = sample
                task = tasks[sample.index // num_generations]
                scoring[sample.index] = asyncio.create_task(_score(verifier, task, sample))
        await asyncio.gather(*scoring.values())
    finally:
        for running in scoring.values():
            running.cancel()
        await asyncio.gather(*scoring.values(), return_exceptions=True)
    scores = {index: running.result() for index, running in scoring.items()}
    numbers = [range(place * num_generations, (place + 1) * num_generations) for place in range(len(tasks))]
    return [
        Group(task, [samples[number] for number in own], [scores[number] for number in own])
        for task, own in zip(tasks, numbers, strict=True)
    ]


def prompt_ids_of(env: Environment, task: Task, policy: Policy, max_prompt_length: int) -> tuple[int, ...]:
    """The prompt's token ids. Raises UserError, naming the task, when it is empty or too long."""
    prompt_ids = policy.encode(env.prompt(task))
    if not prompt_ids:
        raise UserError(f"the prompt of task {task.id!r} is empty; give it a text")
    if len(prompt_ids) > max_prompt_length:
        raise UserError(
            f"the prompt of task {task.id!r} has {len(prompt_ids)} tokens and max_prompt_length is "
            f"{max_prompt_length}; raise it or drop the task"
        )
    return prompt_ids


async def _score(verifier: Verifier, task: Task, sample: Sample) -> Score:
    reply: Message = {"role": "assistant", "content": sample.text}
    transcript = [*verifier.env.prompt(task), reply]
    if await verifier.env.respond(task, transcript) is not None:
        raise UserError(f"environment {verifier.env.name!r} has several turns; training takes one turn so far")
    return await verifier.score(task, transcript)
