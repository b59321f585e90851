from __future__ import annotations

import pytest

from acidtest.envs import Task, UserError
from acidtest.trainer.task_stream import TaskStream

TASKS = [Task(str(place), "?") for place in range(10)]


def ids(tasks: list[Task]) -> list[str]:
    return [task.id for task in tasks]


def test_each_epoch_has_every_task_once_in_an_order_of_its_own() -> None:
    stream = TaskStream(TASKS, seed=0)
    first, second = ids(stream.take(10)), ids(stream.take(10))
    assert sorted(first) == sorted(second) == sorted(ids(TASKS))
    assert first != second
    assert first != ids(TASKS)


def test_the_seed_decides_the_order() -> None:
    assert ids(TaskStream(TASKS, 1).take(10)) == ids(TaskStream(TASKS, 1).take(10))
    assert ids(TaskStream(TASKS, 1).take(10)) != ids(TaskStream(TASKS, 2).take(10))


def test_it_goes_on_where_it_was_saved_in_the_middle_of_an_epoch() -> None:
    whole = ids(TaskStream(TASKS, 3).take(35))
    stream = TaskStream(TASKS, 3)
    stream.take(13)
    later = TaskStream(TASKS, 3)
    later.load_state_dict(stream.state_dict())
    assert ids(later.take(22)) == whole[13:]


def test_another_task_set_is_refused() -> None:
    state = TaskStream(TASKS, 0).state_dict()
    with pytest.raises(UserError, match="10 tasks and there are 9"):
        TaskStream(TASKS[:9], 0).load_state_dict(state)


def test_no_tasks_is_the_users_error() -> None:
    with pytest.raises(UserError, match="no training tasks"):
        TaskStream([], 0)
