"""Loads the model and the tokenizer of a run."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import huggingface_hub
import torch

from acidtest.envs import Message, UserError

from .toy import toy_model, toy_tokenizer

TOY = "toy"
HUB_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Policy:
    """A model, its tokenizer and the ids that end a completion (several models have more than one)."""

    model: Any
    tokenizer: Any
    eos_ids: tuple[int, ...]

    def encode(self, messages: list[Message]) -> tuple[int, ...]:
        """The token ids of a prompt: by the chat template, or the plain texts in a row where there is none."""
        if self.tokenizer.chat_template:
            encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
            return tuple(encoded["input_ids"])
        return tuple(self.tokenizer.encode("\n\n".join(message["content"] for message in messages)))


def pick_device(name: str) -> torch.device:
    """`auto` is the first GPU, else the CPU. Raises UserError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"the device {name!r} cannot be used: {reason}; set device to 'auto' or 'cpu'") from error
    return device


def load_policy(model: str, device: torch.device, seed: int) -> Policy:
    """Load `model` in float32. Raises UserError naming a model that cannot be found or read."""
    if model == TOY:
        tokenizer = toy_tokenizer()
        return Policy(toy_model(tokenizer, seed).to(device), tokenizer, (tokenizer.eos_token_id,))
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    _check_exists(model)
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"the model {model!r} cannot be loaded: {reason[:300]}") from error
    return Policy(loaded.to(device), tokenizer, _eos_ids(loaded, tokenizer))


def _check_exists(model: str) -> None:
    path = Path(model)
    looks_local = path.is_absolute() or model.startswith((".", "~")) or model.count("/") != 1
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"the folder {model} holds no config.json; give a folder in Hugging Face format")
    elif path.exists() or (looks_local and "/" in model):
        raise UserError(f"there is no model folder {model}; give a folder in Hugging Face format or a hub name")
    elif not _is_cached(model) and not _hub_answers():
        raise UserError(
            f"there is no model folder {model}, and the hub, where it may be, cannot be reached; "
            "give a folder in Hugging Face format or check the network"
        )


def _is_cached(model: str) -> bool:
    return isinstance(huggingface_hub.try_to_load_from_cache(model, "config.json"), str)


def _hub_answers() -> bool:
    """Whether the hub can be connected to. Asked first, because its client tries for a minute before it gives up."""
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        return False
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True  # only the proxy knows
    address = urlsplit(huggingface_hub.constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=HUB_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _eos_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    declared = model.generation_config.eos_token_id
    ids = {tokenizer.eos_token_id, *(declared if isinstance(declared, list) else [declared])} - {None}
    if not ids:
        raise UserError("the model names no end-of-sequence token; set eos_token_id in its generation_config.json")
    return tuple(sorted(ids))
