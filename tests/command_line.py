"""What the tests of the command line share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Acidtest = Callable[..., "subprocess.CompletedProcess[str]"]
"""The fixture `acidtest`: runs the command with the given arguments in an empty folder."""


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a user's error; asserts that there is nothing else."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("acidtest: error: ")
    return line.removeprefix("acidtest: error: ")
