"""In which number format the forward passes of the trainer and of its sampler run."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def autocast(device: torch.device) -> AbstractContextManager[Any]:
    """bfloat16 arithmetic on a GPU (the weights stay float32), float32 on a CPU."""
    return nullcontext() if device.type == "cpu" else torch.autocast(device.type, torch.bfloat16)
