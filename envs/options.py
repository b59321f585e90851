"""`key=value` options as they come from a command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .errors import UserError


def parse_options(pairs: Iterable[str]) -> dict[str, Any]:
    """`["level=2", "rubric=r1"]` -> `{"level": 2, "rubric": "r1"}`: JSON where it is JSON, else text.

    Raises UserError for a pair without `=` or a key given twice.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UserError(f"the environment option {pair!r} has no '='; write it as key=value")
        if key in options:
            raise UserError(f"the environment option {key!r} is given twice; give it once")
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
    return options
