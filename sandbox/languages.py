"""How each language is compiled and run inside the box, and what to install where it is missing."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from functools import cache

from .program import LANGUAGES

BOX_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for, inside the box and so on the host."""

BINARY = "program.bin"
"""The name of a compiled program beside its source."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The commands of one language. `{source}` stands for the source file's name.

    compile: None where nothing is compiled; it must leave `BINARY`. memory_error: what the end of stderr looks like
    when an allocation was refused rather than the process killed.
    """

    source_name: str
    run: tuple[str, ...]
    compile: tuple[str, ...] | None
    needs: str
    package: str
    memory_error: re.Pattern[bytes] | None = None


_BAD_ALLOC = re.compile(rb"terminate called after throwing an instance of 'std::bad_alloc'")
_GCC = ("-O2", "-pipe", "-o", BINARY, "{source}")


def python_executable() -> str:
    """The interpreter that runs programs: the one that runs us, without its virtual environment."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = os.path.join(sys.base_prefix, "bin", name)
    return found if os.path.exists(found) else os.path.realpath(sys.executable)


_TOOLCHAINS = {
    "python": Toolchain(
        "main.py",
        (python_executable(), "{source}"),
        None,
        python_executable(),
        "python3",
        re.compile(rb"(?m)^MemoryError\b"),
    ),
    "c": Toolchain("main.c", (f"./{BINARY}",), ("gcc", "-std=c17", *_GCC, "-lm"), "gcc", "gcc"),
    "cpp": Toolchain("main.cpp", (f"./{BINARY}",), ("g++", "-std=c++20", *_GCC), "g++", "g++", _BAD_ALLOC),
    "javascript": Toolchain("main.js", ("node", "{source}"), None, "node", "nodejs"),
    "bash": Toolchain("main.sh", ("bash", "{source}"), None, "bash", "bash"),
}


def toolchain(language: str) -> Toolchain | None:
    """The toolchain of `language`, or None where it is not supported yet or not installed (see `missing`)."""
    found = _TOOLCHAINS.get(language)
    return found if found is not None and _where(found.needs) else None


def missing(language: str) -> str:
    """One sentence on why `toolchain(language)` is None, with the remedy."""
    found = _TOOLCHAINS.get(language)
    if found is None:
        return f"programs in {language} are not supported yet"
    return f"there is no {found.needs} on this machine; install it with `apt-get install {found.package}`"


def toolchains() -> dict[str, str | None]:
    """For each language the path of its compiler or interpreter, None where there is none."""
    return {name: _where(_TOOLCHAINS[name].needs) if name in _TOOLCHAINS else None for name in LANGUAGES}


@cache
def _where(command: str) -> str | None:
    return shutil.which(command, path=BOX_PATH)
