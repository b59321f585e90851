"""The arrow of imports, trainer -> envs -> sandbox, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "sandbox": {"sandbox"},
    "envs": {"envs", "sandbox"},
    "trainer": {"trainer", "envs"},
}
ROOMS = set(MAY_IMPORT)


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports_of(source: str, parts: tuple[str, ...]) -> Iterator[str]:
    """Full names of what the module at `parts` (folders, then the file) imports; relative ones are resolved."""
    package = ["acidtest", *parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            # `from acidtest import envs` names a module too.
            yield from (f"{name}.{alias.name}" for alias in node.names)


def forbidden(source: str, parts: tuple[str, ...]) -> list[str]:
    """What the module at `parts` imports and may not."""
    wrong = []
    for name in imports_of(source, parts):
        first, _, rest = name.partition(".")
        room = rest.partition(".")[0]
        bare = first in ROOMS
        against = first == "acidtest" and parts[0] in ROOMS and room not in MAY_IMPORT[parts[0]]
        if bare or against:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize(
    "path",
    sources("sandbox", "envs", "trainer", "acidtest", "tests", "examples"),
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_imports_follow_the_arrow(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    assert forbidden(path.read_text(), parts[1:] if parts[0] == "acidtest" else parts) == []


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        (("sandbox", "a.py"), "from acidtest.envs import Task"),
        (("sandbox", "a.py"), "from acidtest import envs"),
        (("sandbox", "a.py"), "from ..envs import Task"),
        (("sandbox", "a.py"), "import acidtest.cli"),
        (("sandbox", "a.py"), "import envs"),
        (("envs", "math", "a.py"), "from ...trainer import train"),
        (("envs", "a.py"), "def f():\n    import acidtest.trainer.train"),
        (("envs", "a.py"), "from acidtest import make"),
        (("trainer", "a.py"), "from acidtest.sandbox import Program"),
        (("trainer", "a.py"), "from envs import Task"),
        (("cli.py",), "from trainer.command import main"),
    ],
)
def test_a_forbidden_import_is_found(parts: tuple[str, ...], source: str) -> None:
    assert len(forbidden(source, parts)) == 1


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        (("envs", "math", "a.py"), "from ..task import Task"),
        (("envs", "math", "a.py"), "from .compare import compare"),
        (("envs", "a.py"), "from acidtest.sandbox import Sandbox"),
        (("trainer", "a.py"), "from acidtest.envs.errors import unknown_name"),
        (("cli.py",), "from acidtest.trainer.command import main"),
    ],
)
def test_an_allowed_import_passes(parts: tuple[str, ...], source: str) -> None:
    assert forbidden(source, parts) == []
