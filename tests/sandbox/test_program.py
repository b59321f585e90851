from __future__ import annotations

import math
from typing import Any

import pytest

from acidtest.sandbox import Limits, Program


@pytest.mark.parametrize(
    ("language", "says"), [("pythn", "'python'"), ("Cpp", "'cpp'"), ("", "known"), ("cobol", "known")]
)
def test_an_unknown_language_is_named(language: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Program(language, "")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", ".", "a\0b"])
def test_files_stay_in_the_programs_folder(name: str) -> None:
    with pytest.raises(ValueError, match="relative"):
        Program("python", "", files={name: b""})
    with pytest.raises(ValueError, match="relative"):
        Program("python", "", entry=name)


def test_an_argument_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        Program("python", "", args=("a\0",))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "3"])
@pytest.mark.parametrize("name", ["cpu_s", "wall_s", "memory_mb", "processes", "output_kb", "file_mb", "stack_mb"])
def test_limits_are_positive_numbers(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


def test_wall_time_is_a_generous_multiple_of_cpu_time() -> None:
    assert Limits(cpu_s=3).wall_limit_s == 17
    assert Limits(cpu_s=3, wall_s=4).wall_limit_s == 4
