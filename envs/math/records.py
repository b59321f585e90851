"""Problem and gold answer from the columns that data sets have them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UserError
from ..parsing import last_boxed
from ..task import Message, Task

PROMPT_FIELDS = ("prompt", "problem", "question", "Problem", "Question")
ANSWER_FIELDS = ("answer", "Answer", "gold", "final_answer", "expected_answer", "ground_truth")
_USED = {*PROMPT_FIELDS, *ANSWER_FIELDS, "id", "unique_id", "uuid", "ID", "solution", "Solution", "completion"}


def task_from_math_record(record: Mapping[str, Any], task_id: str) -> Task:
    r"""A task from a record of GSM8K, MATH, DAPO, DeepScaleR, AIME or NuminaMath, or of our own form.

    The gold answer is a column of its own, what follows `####`, or the last `\boxed{}` of the solution. Raises
    UserError where there is no problem or no answer.
    """
    own_id = next((str(record[name]) for name in ("id", "unique_id", "uuid", "ID") if record.get(name)), task_id)
    prompt = next((record[name] for name in PROMPT_FIELDS if record.get(name)), None)
    answer = _gold(record)
    if answer is None or not answer.strip():
        raise UserError(f"task {own_id!r} has no gold answer; give it a field 'answer'")
    info = {name: value for name, value in record.items() if name not in _USED}
    return Task(own_id, "" if prompt is None else _prompt(prompt, own_id), answer.strip(), info)


def _gold(record: Mapping[str, Any]) -> str | None:
    answer = next((record[name] for name in ANSWER_FIELDS if record.get(name) not in {None, ""}), None)
    if answer is None and isinstance(model := record.get("reward_model"), Mapping):
        answer = model.get("ground_truth")
    if answer is None:
        solution = record.get("solution") or record.get("Solution")
        answer = last_boxed(solution) if isinstance(solution, str) else None
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        if answer is None:
            return None
        raise UserError(f"the gold answer is {type(answer).__name__}; it must be text or a number")
    text = str(answer)
    return text.rpartition("####")[2] if "####" in text else text


def _prompt(prompt: Any, own_id: str) -> str | list[Message]:
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list) and all(
        isinstance(part, Mapping) and {"role", "content"} <= set(part) for part in prompt
    ):
        return [{"role": str(part["role"]), "content": str(part["content"])} for part in prompt]
    raise UserError(f"the problem of task {own_id!r} is {type(prompt).__name__}; it must be text or chat messages")
