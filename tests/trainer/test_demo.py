"""What `make demo` promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.trainer.command import parse
from acidtest.trainer.train import train


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_demo_learns_to_add(tmp_path: Path) -> None:
    result = train(parse(["--output-dir", str(tmp_path)]))
    assert result.accuracy_before is not None
    assert result.accuracy_after is not None
    assert result.accuracy_before <= 0.5
    assert result.accuracy_after >= 0.9
