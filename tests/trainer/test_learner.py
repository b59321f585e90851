from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from acidtest.trainer.config import TrainConfig
from acidtest.trainer.learner import Learner, learning_rate
from acidtest.trainer.policy import Batch, pad_batch

CPU = torch.device("cpu")
LENGTHS = [3, 1, 6, 2, 5, 4, 6]
ADVANTAGES = [1.0, -0.5, 0.3, -1.2, 0.8, 0.1, -0.4]

MakeModel = Callable[..., Any]
MakeConfig = Callable[..., TrainConfig]


def batch(order: list[int] | None = None, extra_padding: int = 0) -> Batch:
    """Seven completions of different lengths; `extra_padding` adds columns that are padding everywhere."""
    order = order or list(range(len(LENGTHS)))
    prompts = [[10 + place] * (1 + place % 3) for place in order]
    completions = [[20 + place + t for t in range(LENGTHS[place])] for place in order]
    logprobs = [[-4.0 - 0.1 * t for t in range(LENGTHS[place])] for place in order]
    made = pad_batch(prompts, completions, logprobs, [ADVANTAGES[place] for place in order], CPU)
    if not extra_padding:
        return made
    pad = torch.nn.functional.pad
    return Batch(
        pad(made.prompt_BS, (extra_padding, 0)),
        pad(made.prompt_mask_BS, (extra_padding, 0)),
        pad(made.completion_BT, (0, extra_padding), value=3),
        pad(made.mask_BT, (0, extra_padding)),
        pad(made.sampler_logprobs_BT, (0, extra_padding), value=math.nan),
        made.advantages_B,
    )


def gradient(model: Any, config: TrainConfig, data: Batch) -> torch.Tensor:
    """The gradient of one optimizer step's loss, all parameters in a row."""
    learner = Learner(model, config)
    reference = learner.reference
    ref_BT = None if reference is None else learner._all_logprobs(reference, data) - 0.1
    learner.accumulate(data, ref_BT=ref_BT)
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("loss_type", ["grpo", "dapo", "dr_grpo"])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_the_gradient_does_not_depend_on_how_the_step_is_cut(
    tiny_model: MakeModel, config: MakeConfig, loss_type: str, beta: float
) -> None:
    def of(size: int, data: Batch) -> torch.Tensor:
        settings = config(per_device_train_batch_size=size, loss_type=loss_type, beta=beta, max_completion_length=6)
        return gradient(tiny_model(dtype=torch.float64), settings, data)

    whole = of(len(LENGTHS), batch())
    assert whole.norm() > 1e-3
    for size in (1, 2, 3, 6):
        torch.testing.assert_close(of(size, batch()), whole, rtol=0, atol=1e-7 * float(whole.norm()))
    for other in (batch(order=[6, 2, 0, 5, 1, 3, 4]), batch(extra_padding=4)):
        torch.testing.assert_close(of(3, other), whole, rtol=0, atol=1e-7 * float(whole.norm()))


def test_on_policy_the_gradient_is_that_of_the_weighted_log_likelihood(
    tiny_model: MakeModel, config: MakeConfig
) -> None:
    # With ratio 1 the GRPO gradient is REINFORCE's: -mean over completions of A * mean over tokens of grad log pi.
    data, model = batch(), tiny_model(dtype=torch.float64)
    ours = gradient(model, config(sampler_importance_cap=None), data)
    plain = tiny_model(dtype=torch.float64).train()
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        prompt = data.prompt_BS[row][data.prompt_mask_BS[row]]
        completion = data.completion_BT[row, :length]
        logits_TV = plain(input_ids=torch.cat([prompt, completion])[None]).logits[0, len(prompt) - 1 : -1]
        chosen_T = torch.log_softmax(logits_TV, dim=1).gather(1, completion[:, None])[:, 0]
        total = total - ADVANTAGES[row] * chosen_T.mean() / len(LENGTHS)
    total.backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in plain.parameters()])
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-7)


def test_learning_raises_what_was_better_and_lowers_what_was_worse(tiny_model: MakeModel, config: MakeConfig) -> None:
    data, model = batch(), tiny_model()
    learner = Learner(model, config(learning_rate=1e-3, num_iterations=3))
    before_B = (learner._all_logprobs(model, data) * data.mask_BT).sum(dim=1)
    learner.learn(data, 1)
    after_B = (learner._all_logprobs(model, data) * data.mask_BT).sum(dim=1)
    assert ((after_B - before_B) @ data.advantages_B.to(after_B)) > 0


def test_no_reference_is_held_without_kl(tiny_model: MakeModel, config: MakeConfig) -> None:
    assert Learner(tiny_model(), config()).reference is None


def test_the_reference_stays_where_the_policy_started(tiny_model: MakeModel, config: MakeConfig) -> None:
    model = tiny_model()
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    learner = Learner(model, config(beta=0.1, num_iterations=2))
    metrics = learner.learn(batch(), 1)
    assert metrics["kl"] > 0
    assert learner.reference is not None
    assert same(learner.reference.state_dict(), start)
    assert not same(model.state_dict(), start)


def test_the_kl_term_alone_pulls_the_policy_back(tiny_model: MakeModel, config: MakeConfig) -> None:
    model, other = tiny_model(0), tiny_model(1)
    learner = Learner(model, config(beta=1.0, learning_rate=3e-3))
    learner.reference = other.eval().requires_grad_(False)
    data = batch()
    data.advantages_B.zero_()
    kls = [learner.learn(data, step)["kl"] for step in range(1, 60)]
    assert kls[-1] < 0.2 * kls[0]


def test_the_gradient_norm_is_clipped(tiny_model: MakeModel, config: MakeConfig) -> None:
    seen: list[float] = []
    model = tiny_model()
    learner = Learner(model, config(max_grad_norm=0.01))
    learner.optimizer.register_step_pre_hook(
        lambda *_: seen.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))
    )
    metrics = learner.learn(batch(), 1)
    assert metrics["grad_norm"] > 0.01
    assert seen == [pytest.approx(0.01, rel=1e-3)]


def test_a_gradient_that_is_not_finite_stops_before_the_weights_change(
    tiny_model: MakeModel, config: MakeConfig
) -> None:
    model = tiny_model()
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    data = batch()
    data.advantages_B[0] = math.nan
    with pytest.raises(FloatingPointError, match="step 7"):
        Learner(model, config()).learn(data, 7)
    assert same(model.state_dict(), start)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.5, 1, 1, 1, 1, 1]),
        ("linear", [0.5, 1, 1, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1, 1, (1 + math.cos(math.pi / 4)) / 2, 0.5, (1 + math.cos(3 * math.pi / 4)) / 2]),
    ],
)
def test_the_learning_rate_warms_up_and_then_follows_its_schedule(
    config: MakeConfig, schedule: str, expected: list[float]
) -> None:
    settings = config(learning_rate=2.0, warmup_steps=2, max_steps=6, lr_scheduler_type=schedule)
    assert [learning_rate(settings, step) / 2 for step in range(1, 7)] == pytest.approx(expected)


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    """Whether two state dicts hold the same numbers, bit for bit."""
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())
