"""The command line as a user meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .command_line import Acidtest


@pytest.fixture
def acidtest(tmp_path: Path) -> Acidtest:
    """Runs `acidtest ARGS` in an empty folder; `script` is a file that registers environments, then calls `main`."""

    def run(
        *args: str | Path, stdin: str = "", script: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        program = ["-m", "acidtest"] if script is None else [str(script)]
        return subprocess.run(
            [sys.executable, *program, *map(str, args)],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=120,
        )

    return run
