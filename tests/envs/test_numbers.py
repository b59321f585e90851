from __future__ import annotations

from fractions import Fraction

import pytest

from acidtest.envs.numbers import final_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("82", 82),
        ("47 + 35 = 82.", 82),
        ("The answer is 1,234", 1234),
        ("It is 1\u202f234? No: 12", 12),
        (r"\boxed{82}", 82),
        (r"First 80, then \boxed{82}. Checked 3 times", 82),
        (r"\boxed{47 + 35 = 82}", 82),
        ("<answer>82</answer> 5", 82),
        (r"<answer>\boxed{82}</answer>", 82),
        ("<think>82</think>", None),
        ("<think>80</think>81", 81),
        ("the result is -7", -7),
        ("the result is \u22127", -7),
        ("12 - 5", 5),
        ("x = -5", -5),
        ("(3)-5", 5),
        ("82.0", 82),
        ("82.5", Fraction(165, 2)),
        ("12 or 13", None),
        ("either 12/13", None),
        ("<answer>12 or 13</answer>", None),
        ("<answer>12, 13</answer>", None),
        (r"\boxed{12 13}", None),
        ("<answer>about 82</answer>", None),
        ("none", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_final_number(text: str, value: Fraction | int | None) -> None:
    assert final_number(text) == value
