"""One open sandbox a test, with control groups and without."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from acidtest.sandbox.bubblewrap import BubblewrapSandbox


@pytest.fixture(params=["with cgroups", "without"])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[BubblewrapSandbox]:
    made = BubblewrapSandbox(workers=2)
    if request.param == "without":
        made._cgroups.version = 0
    elif made.level == "no cgroup":
        pytest.skip("this machine has no writable control groups")
    async with made as opened:
        yield opened
