"""Which tasks a step trains on: a seeded shuffle of the training set, epoch after epoch."""

from __future__ import annotations

import random
from collections.abc import Sequence

from acidtest.envs import Task, UserError


class TaskStream:
    """An endless, resumable walk through `tasks`. The order depends on the seed and the epoch alone."""

    def __init__(self, tasks: Sequence[Task], seed: int) -> None:
        if not tasks:
            raise UserError("the environment has no training tasks; check its data and its split")
        self.tasks = tasks
        self.seed = seed
        self.position = 0

    def take(self, count: int) -> list[Task]:
        """The next `count` tasks."""
        taken = [self._at(self.position + offset) for offset in range(count)]
        self.position += count
        return taken

    def state_dict(self) -> dict[str, int]:
        """What `load_state_dict` needs to go on."""
        return {"position": self.position, "size": len(self.tasks)}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue from `state_dict`'s result. Raises UserError when the task set has another size."""
        if state["size"] != len(self.tasks):
            raise UserError(
                f"the run was started on {state['size']} tasks and there are {len(self.tasks)} now; "
                "resume with the same data and options"
            )
        self.position = state["position"]

    def _at(self, position: int) -> Task:
        epoch, place = divmod(position, len(self.tasks))
        return self.tasks[self._order(epoch)[place]]

    def _order(self, epoch: int) -> list[int]:
        if getattr(self, "_cached_epoch", None) != epoch:
            order = list(range(len(self.tasks)))
            random.Random(f"{self.seed}:{epoch}").shuffle(order)
            self._cached_epoch, self._cached_order = epoch, order
        return self._cached_order
