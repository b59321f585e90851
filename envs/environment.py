"""What an environment is: tasks, the prompt of a task, and what an answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import UserError
from .rubric import Rubric
from .task import Message, Score, Task, Transcript, last_reply

if TYPE_CHECKING:
    from acidtest.sandbox import Sandbox

TaskSource = Sequence[Task] | Mapping[str, Sequence[Task]] | Callable[[str], Sequence[Task]]
"""Tasks for every split, or by split name, or a function of the split name."""


class Environment:
    """A task set and how an answer is checked. Used as it is, or subclassed where a method must differ.

    tasks: a sequence (served for every split), a mapping from split name, or a function of the split name.
    rubric: what an answer is worth. system_prompt: put before each task's prompt when given.
    version: changes whenever the same completion may get another score.
    """

    name: str = "unnamed"
    version: str = "1"

    def __init__(
        self,
        tasks: TaskSource = (),
        rubric: Rubric | None = None,
        *,
        system_prompt: str | None = None,
        version: str | None = None,
    ) -> None:
        self._tasks = tasks
        self.rubric = rubric
        self.system_prompt = system_prompt
        if version is not None:
            self.version = version

    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of `split` (`train` or `test`), always the same and in the same order."""
        if callable(self._tasks):
            return self._tasks(split)
        if isinstance(self._tasks, Mapping):
            if split not in self._tasks:
                raise UserError(f"environment {self.name!r} has no split {split!r}; it has {', '.join(self._tasks)}")
            return self._tasks[split]
        return self._tasks

    def task_from_record(self, record: Mapping[str, Any], task_id: str) -> Task:
        """A task from one line of a data file. Raises UserError where a field is missing or malformed.

        Fields: `id` (else `task_id` is used), `prompt` (text or messages), `answer`; all others but
        `completion` become `info`.
        """
        prompt = record.get("prompt", "")
        if not isinstance(prompt, str | list):
            raise UserError(f"the field 'prompt' is {type(prompt).__name__}; it must be text or a list of messages")
        answer = record.get("answer")
        if answer is not None and not isinstance(answer, str | int | float):
            raise UserError(f"the field 'answer' is {type(answer).__name__}; it must be text or a number")
        known = ("id", "prompt", "answer", "completion")
        info = {key: value for key, value in record.items() if key not in known}
        return Task(str(record.get("id", task_id)), prompt, None if answer is None else str(answer), info)

    def prompt(self, task: Task) -> list[Message]:
        """The messages that a model is given for `task`."""
        messages: list[Message] = []
        if self.system_prompt is not None:
            messages.append({"role": "system", "content": self.system_prompt})
        if isinstance(task.prompt, str):
            messages.append({"role": "user", "content": task.prompt})
        else:
            messages.extend(task.prompt)
        return messages

    async def respond(self, task: Task, transcript: Transcript) -> list[Message] | None:
        """What the environment says after the model's turn; None ends the episode (the default)."""
        return None

    async def score(self, task: Task, transcript: Transcript) -> Score:
        """What the model's last reply is worth."""
        if self.rubric is None:
            raise UserError(f"environment {self.name!r} has neither a rubric nor a score method of its own")
        return await self.rubric.score(task, last_reply(transcript))

    async def open(self, *, sandbox: Sandbox | str = "auto", workers: int | None = None) -> None:
        """Acquire what scoring needs (worker processes, a sandbox). The `Verifier` calls it once."""

    async def close(self) -> None:
        """Release what `open` acquired."""
