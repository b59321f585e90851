from __future__ import annotations

import torch

from acidtest.trainer.kl import k3


def categorical(*logits: float) -> torch.Tensor:
    return torch.log_softmax(torch.tensor(logits, dtype=torch.float64), dim=0)


def test_the_mean_of_k3_over_the_policy_is_the_exact_kl() -> None:
    policy, reference = categorical(0.3, -1.0, 2.0, 0.0), categorical(1.0, 0.5, -0.5, 0.2)
    exact = (policy.exp() * (policy - reference)).sum()
    torch.testing.assert_close((policy.exp() * k3(policy, reference)).sum(), exact, rtol=0, atol=1e-14)


def test_the_gradient_of_sampled_k3_is_that_of_the_kl_from_the_reference() -> None:
    # With fixed samples the mean gradient is -sum(ref * grad log pi): the gradient of KL(ref || pi).
    logits = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    reference = categorical(1.0, 0.5, -0.5)
    policy = torch.log_softmax(logits, dim=0)
    (sampled,) = torch.autograd.grad((policy.detach().exp() * k3(policy, reference)).sum(), logits, retain_graph=True)
    (exact,) = torch.autograd.grad((reference.exp() * (reference - policy)).sum(), logits)
    torch.testing.assert_close(sampled, exact, rtol=0, atol=1e-14)


def test_k3_is_zero_where_the_two_agree_and_positive_elsewhere() -> None:
    same = torch.tensor([[-1.5]])
    assert k3(same, same).item() == 0
    assert (k3(torch.tensor([-1.0, -3.0]), torch.tensor([-2.0, -2.0])) > 0).all()


def test_k3_keeps_its_digits_for_tiny_differences() -> None:
    # d = 1e-6: k3 = d^2 / 2 to first order, lost entirely if computed as exp(d) - d - 1.
    value = k3(torch.zeros(1, dtype=torch.float64), torch.full((1,), 1e-6, dtype=torch.float64))
    torch.testing.assert_close(value, torch.tensor([5e-13], dtype=torch.float64), rtol=1e-3, atol=0)
