from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.envs.code.extract import find_program
from acidtest.envs.countdown import _expression
from acidtest.envs.math.extract import final_answer
from acidtest.envs.numbers import final_number
from acidtest.envs.parsing import answer_tag, boxes, code_blocks, final_part, last_boxed

PIECES = [
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "\\boxed{",
    "}",
    "{",
    "\\{",
    "```",
    "```python\n",
    "\n",
    "$",
    "7",
    "x",
]
soup = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>never ends 42", ""),
        ("b</think>c<think>again", "c"),
        ("<think>42</think>", ""),
    ],
)
def test_only_what_follows_the_reasoning_counts(text: str, part: str) -> None:
    assert final_part(text) == part


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("<answer> 5 </answer>", "5"),
        ("<answer>1</answer><answer>2</answer>", "2"),
        ("<answer>1<answer>2</answer>", "2"),
        ("<answer>1", None),
        ("1</answer>", None),
    ],
)
def test_answer_tag(text: str, content: str | None) -> None:
    assert answer_tag(text) == content


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (r"\boxed{5}", ["5"]),
        (r"\boxed{\frac{1}{2}} and \boxed{x_{1}}", [r"\frac{1}{2}", "x_{1}"]),
        (r"\boxed{\{1, 2\}}", [r"\{1, 2\}"]),
        (r"\boxed{\{1}", [r"\{1"]),
        (r"\boxed 7 and \fbox{8}", ["7", "8"]),
        (r"\boxed{open", []),
        (r"\boxed{open \boxed{5}", ["5"]),
        (r"\boxed{\boxed{5}}", [r"\boxed{5}"]),
        (r"\boxed\pi", []),
        ("boxed{5}", []),
    ],
)
def test_boxes(text: str, contents: list[str]) -> None:
    assert boxes(text) == contents
    assert last_boxed(text) == (contents[-1] if contents else None)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("```python\nx\n```", [("python", "x\n")]),
        ("```\nx\n```\ntext\n~~~C++\ny\n~~~", [("", "x\n"), ("c++", "y\n")]),
        ("````\n```\nx\n```\n````", [("", "```\nx\n```\n")]),
        ("```py\nx", [("py", "x")]),
        ("```py", [("py", "")]),
        ("no `code` here", []),
    ],
)
def test_code_blocks(text: str, blocks: list[tuple[str, str]]) -> None:
    assert code_blocks(text) == blocks


@given(soup)
def test_no_text_breaks_a_parser(text: str) -> None:
    final_part(text)
    answer_tag(text)
    boxes(text)
    code_blocks(text)
    final_number(text)
    final_answer(text)
    _expression(text)
    find_program(text, ("python", "cpp"))
