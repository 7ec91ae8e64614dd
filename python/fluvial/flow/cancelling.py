# SPDX-License-Identifier: Apache-2.0
"""What a task that runs learns of its being cancelled."""

from __future__ import annotations

from .. import _core


def task_cancelled() -> bool:
    """Tell whether the program has cancelled the task that calls this; False outside of tasks.

    So it is after ``future.cancel(running=True)``, when the task has outlived its time limit, and
    when another rank of its team has failed. A task that computes for long should ask now and then,
    in the thread that called it, and return or raise what it likes: nobody waits for its result.
    (`Future.cancel` says where functions are ended that do not ask.)
    Ranks of a team may get the word of it in different turns: let one ask, and tell the others.
    Costs a look for messages, some microseconds.

    Examples
    --------
    >>> import time
    >>> import fluvial as fl
    >>> def solve():
    ...     while not fl.task_cancelled():
    ...         time.sleep(0.01)  # or a step of an iteration
    >>> with fl.Pool(2) as pool:
    ...     task = pool.submit(solve)
    ...     while not task.running():
    ...         time.sleep(0.01)
    ...     print(task.cancel(), task.cancel(running=True))
    False True
    """
    return _core.task_cancelled()
