from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch

from acidtest.envs import UserError
from acidtest.trainer.models import Policy, load_policy, pick_device
from acidtest.trainer.run_folder import save_model
from acidtest.trainer.toy import toy_tokenizer

CPU = torch.device("cpu")


def test_a_saved_policy_loads_with_the_same_weights(
    tmp_path: Path, tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    model = tiny_model()
    save_model(Policy(model, tokenizer, (1,)), tmp_path)
    loaded = load_policy(str(tmp_path), CPU, seed=0)
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in loaded.model.state_dict().items())
    assert loaded.eos_ids == (tokenizer.eos_token_id,)
    assert loaded.tokenizer.encode("47+35=") == tokenizer.encode("47+35=")


def test_all_end_tokens_that_the_model_names_are_used(
    tmp_path: Path, tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    model = tiny_model()
    model.generation_config.eos_token_id = [7, 3]
    save_model(Policy(model, tokenizer, (1,)), tmp_path)
    assert load_policy(str(tmp_path), CPU, seed=0).eos_ids == (1, 3, 7)


def test_a_model_without_an_end_token_is_refused(
    tmp_path: Path, tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    model = tiny_model()
    model.generation_config.eos_token_id = None
    model.config.eos_token_id = None
    save_model(Policy(model, tokenizer, ()), tmp_path)
    text = (tmp_path / "tokenizer_config.json").read_text()
    (tmp_path / "tokenizer_config.json").write_text(text.replace("eos_token", "unused_token"))
    with pytest.raises(UserError, match="end-of-sequence"):
        load_policy(str(tmp_path), CPU, seed=0)


@pytest.mark.parametrize("name", ["./no/such/folder", "/no/such/folder", "a/b/c"])
def test_a_folder_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(UserError, match="no model folder") as caught:
        load_policy(name, CPU, seed=0)
    assert name in str(caught.value)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json"):
        load_policy(str(tmp_path), CPU, seed=0)


def test_a_model_that_is_broken_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="cannot be loaded") as caught:
        load_policy(str(tmp_path), CPU, seed=0)
    assert "\n" not in str(caught.value)


def test_a_device_that_is_not_there_is_refused_with_the_remedy() -> None:
    with pytest.raises(UserError, match=r"'gpu7'.*auto"):
        pick_device("gpu7")
    assert pick_device("cpu") == CPU


def test_the_chat_template_is_used_where_there_is_one(tiny_model: Callable[..., Any], tokenizer: Any) -> None:
    chat = toy_tokenizer()
    chat.chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    assert chat.decode(Policy(None, chat, ()).encode(messages)) == "[system]S[user]U[assistant]"  # type: ignore[arg-type]
    assert tokenizer.decode(Policy(None, tokenizer, ()).encode(messages)) == "S\n\nU"  # type: ignore[arg-type]


def test_a_hub_that_cannot_be_reached_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="no model folder some/model, and the hub"):
        load_policy("some/model", CPU, seed=0)
