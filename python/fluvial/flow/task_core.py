# SPDX-License-Identifier: Apache-2.0
"""What a pool asks of its core: the compiled one of this process, or that of a job it started."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypedDict

from .payload import Part
from .timeline import Record

CoreSettings: TypeAlias = tuple[float, float, dict[str, float], bool, int, bool, bool]
"""stall_timeout, stuck_after, resources, lead_works, servers (0: by host), audit and trace."""
Failure: TypeAlias = tuple[str, str, int, bytes | bytearray]
"""Of a task: the name of an error's class, what it says, a rank or -1, and a packed exception."""
Report: TypeAlias = tuple[int, bytearray | None, Failure | None, bytearray | None]
"""The number of a task, and what came of it: its packed result (None where that has stayed on its
rank), its failure, or what it has returned that asks for further tasks."""
TaskPlace: TypeAlias = int | concurrent.futures.Future[Any] | None
"""Near what a task runs: a rank of the pool, or the one that ran a future's task."""


class JobFailure(NamedTuple):
    """Why the ranks of a job that was started for a pool cannot serve it."""

    kind: str
    """The name of an error's class."""
    message: str


class TaskState(Protocol):
    """What a core knows a task by."""

    @property
    def number(self) -> int:
        """Its number in the core."""

    @property
    def running(self) -> bool:
        """Whether its ranks have it."""

    @property
    def parts(self) -> Sequence[TaskState]:
        """Of a task whose ranks keep what they return: one for each."""


CoreInput: TypeAlias = TaskState | tuple[TaskState]
"""An input of a task: another one's result, or in a tuple, for each rank its own part of that."""


class CoreOptions(TypedDict):
    """The options of a task as a core takes them."""

    ranks: list[int]
    between: bool
    priority: float
    near: TaskPlace | TaskState
    on_host: bool
    strict: bool
    cost: float
    timeout: float
    retries: int
    kind: str
    keep: bool | str
    fresh: bool
    exclusive: bool
    resources: Mapping[str, float]


CoreCall: TypeAlias = tuple[list[Part], list[CoreInput], CoreOptions]
"""What a core takes of a task: the parts of its message, its inputs, its options."""


class TaskCore(Protocol):
    """Submits tasks to ranks; the states that it takes are those that it has made itself."""

    @property
    def leads(self) -> bool:
        """True on the rank that submits tasks."""

    @property
    def rank(self) -> int:
        """The number of this rank."""

    @property
    def size(self) -> int:
        """Number of ranks, the lead included."""

    @property
    def workers(self) -> int:
        """Number of ranks that run tasks."""

    def check_process(self) -> None:
        """Raise InvalidArgument in a child by fork() of the process that made it."""

    def submit(
        self, parts: list[Part], futures: list[CoreInput], options: CoreOptions, /
    ) -> TaskState:
        """Submit a task."""

    def submit_together(self, tasks: list[CoreCall], /) -> Sequence[TaskState]:
        """Submit tasks that start together."""

    def known(self, parts: list[Part], /) -> TaskState:
        """Return a task that is done, with this result."""

    def failed(self, parts: list[Part], /) -> TaskState:
        """Return a task that is done, and has raised this."""

    def follow(self, task: TaskState, other: TaskState, /) -> None:
        """Give a task that continues the other's result."""

    def wait_for_some(self, timeout: float, /) -> list[Report]:
        """Return what is done, at the latest after `timeout` seconds."""

    def wake(self) -> None:
        """End a wait."""

    def result(self, task: TaskState, timeout: float, /) -> bytearray | None:
        """Return the result of a task that is done; None when it has not come in that time."""

    def cancel(self, task: TaskState, running: bool = False, /) -> bool:
        """Keep a task from beginning, or tell the ranks that run it that nobody waits for it."""

    def timeline(self) -> Record | None:
        """Return what the ranks have done; None when the job broke off."""

    def close(self) -> None:
        """End, when all tasks are done."""


class ExportingCore(TaskCore, Protocol):
    """One that also submits exported C++ functions."""

    def submit_exported(
        self, path: str, name: str, calls: list[bytes], options: CoreOptions, /
    ) -> Sequence[TaskState]:
        """Submit a task for each message of inputs."""
