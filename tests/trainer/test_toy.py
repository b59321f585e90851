from __future__ import annotations

from typing import Any

import pytest
import torch

from acidtest.envs import Task, UserError
from acidtest.trainer.toy import END, toy_model, toy_tokenizer, warm_start


@pytest.mark.parametrize("text", ["47+35=", " two  spaces\n and a line", "82", ""])
def test_the_tokenizer_keeps_every_character(tokenizer: Any, text: str) -> None:
    ids = tokenizer.encode(text)
    assert len(ids) == len(text)
    assert tokenizer.decode(ids) == text


def test_the_end_token_is_no_text(tokenizer: Any) -> None:
    assert tokenizer.decode([*tokenizer.encode("12"), tokenizer.eos_token_id], skip_special_tokens=True) == "12"
    assert tokenizer.decode([tokenizer.eos_token_id]) == END


def test_the_model_has_about_a_million_parameters_and_depends_on_its_seed(tokenizer: Any) -> None:
    model = toy_model(tokenizer, seed=0)
    assert 0.8e6 < model.num_parameters() < 1.2e6
    weights = [toy_model(toy_tokenizer(), seed).model.norm.weight.new_tensor(0) for seed in (0, 0)]
    assert torch.equal(*weights)
    again, other = toy_model(tokenizer, 0), toy_model(tokenizer, 1)
    name = "model.layers.0.mlp.up_proj.weight"
    assert torch.equal(model.get_parameter(name), again.get_parameter(name))
    assert not torch.equal(model.get_parameter(name), other.get_parameter(name))


def test_the_warm_start_teaches_the_format(tokenizer: Any) -> None:
    tasks = [Task(str(place), f"{place}:", str(place % 3)) for place in range(9)]
    model = toy_model(tokenizer, seed=0)
    warm_start(model, tokenizer, tasks, steps=60, seed=0)
    ids = torch.tensor([tokenizer.encode("4:")])
    with torch.no_grad():
        first = model(ids).logits[0, -1].argmax()
        second = model(torch.cat([ids, first[None, None]], dim=1)).logits[0, -1].argmax()
    assert tokenizer.decode([first]) == "1"
    assert second == tokenizer.eos_token_id


@pytest.mark.parametrize("task", [Task("no-gold", "1+1="), Task("chat", [{"role": "user", "content": "?"}], "2")])
def test_a_task_that_cannot_be_taught_is_named(tokenizer: Any, task: Task) -> None:
    with pytest.raises(UserError, match=task.id):
        warm_start(toy_model(tokenizer, 0), tokenizer, [task], steps=1, seed=0)
