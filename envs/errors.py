"""The error that a user can mend, and the sentence that says how."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something the user gave cannot be used; the message names the thing, the value and the remedy.

    The command line prints it as one sentence and exits with code 2.
    """


def unknown_name(what: str, given: str, valid: Iterable[str]) -> str:
    """One sentence for a misspelt name: the nearest valid one, or all of them when none is near."""
    names = sorted(valid)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    return f"unknown {what} {given!r}; " + (f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}")
