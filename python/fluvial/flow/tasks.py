# SPDX-License-Identifier: Apache-2.0
"""What a rank of a pool does with a task."""

from __future__ import annotations

import collections
import enum
import functools
import os
import pickle
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from .. import _core
from ..base.messages import shown
from .forked_function import end_child
from .functions import never_changes
from .interrupting import call_interruptibly, listen
from .main_names import MainNames
from .parallel import is_parallel, with_communicator
from .payload import Part, is_plain, packed, packed_plain, unpacked
from .task import Task
from .team_communicator import team_communicator

if TYPE_CHECKING:
    from mpi4py import MPI

_OWN_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_FUNCTIONS_KEPT = 256
_LARGEST_KEPT = 1 << 16  # bytes of a function as it is sent: one that has data comes anew


class RemoteTraceback(Exception):  # noqa: N818
    """Where a task raised, as its rank printed it: the cause of what a future raises."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class _Running(threading.local):
    tasks = 0


_running = _Running()


def in_task() -> bool:
    """Tell whether this thread runs a task of a pool."""
    return _running.tasks > 0


class Said(enum.IntEnum):
    """What a rank says of a task it ran."""

    FAILED = 0
    FINISHED = 1
    CONTINUES = 2


class TaskRunner:
    """Runs the tasks of one pool on this rank, in one thread."""

    def __init__(self) -> None:
        self.names = MainNames()
        """What the initializer and all tasks share of the main program."""
        self._functions: collections.OrderedDict[bytes, Callable[..., object]]
        self._functions = collections.OrderedDict()
        self._listens = False

    def run(self, comm: int | None, inputs: list[bytearray]) -> tuple[Said, list[Part]]:
        """Run a task, for the core: returns what came of it, and the message.

        The first input is ``(function, arguments, keyword arguments)``, in which numbers stand for
        the other inputs.
        """
        process = os.getpid()
        with self.names.in_use():
            _running.tasks += 1
            try:
                referred = _references(inputs) if len(inputs) > 1 else None
                shipped, arguments, keywords = unpacked(inputs[0], referred)
                function = self._function_of(shipped)
                if is_parallel(function):
                    function = with_communicator(function, _communicator(comm))
                    result = function(*arguments, **keywords)
                else:
                    self._listen()
                    result = call_interruptibly(function, arguments, keywords)
                if os.getpid() != process:
                    end_child(None)
                return _packed_result(result)
            except BaseException as error:
                if os.getpid() != process:
                    end_child(error)
                return Said.FAILED, packed_error(error)
            finally:
                _running.tasks -= 1

    def _listen(self) -> None:
        if not self._listens:
            listen()
            self._listens = True

    def _function_of(self, shipped: bytes) -> Callable[..., object]:
        """Return what was sent: a function that has a name made once, others for each call.

        An object may change itself when it is called, and a function its closure and its defaults;
        the next call is of what was sent.
        """
        function = self._functions.get(shipped)
        if function is None:
            function = pickle.loads(shipped)
            if len(shipped) <= _LARGEST_KEPT and never_changes(function):
                self._functions[shipped] = function
                if len(self._functions) > _FUNCTIONS_KEPT:
                    self._functions.popitem(last=False)
        return function


def _references(inputs: list[bytearray]) -> Callable[[int], object]:
    return functools.lru_cache(None)(lambda number: unpacked(inputs[1 + number]))


def _packed_result(result: object) -> tuple[Said, list[Part]]:
    if is_plain(result):
        return Said.FINISHED, packed_plain(result)
    further = []

    def note(thing: object) -> None:
        if isinstance(thing, Task):
            further.append(thing)

    try:
        message = packed(result, note)
    except Exception as error:
        raise _core.WrongType(
            f"a task's result cannot be sent: got {shown(result)}; allowed: what pickle or, where "
            f"it is installed, cloudpickle can write ({type(error).__name__}: {error})"
        ) from error
    return Said.CONTINUES if further else Said.FINISHED, message


def _communicator(handle: int | None) -> MPI.Comm:
    from mpi4py import MPI

    return MPI.COMM_SELF if handle is None else team_communicator(handle)


def _behind_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the part that is the user's: of the frames by which this package called that, none."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        trace = trace.tb_next
    return trace


def packed_error(error: BaseException) -> list[Part]:
    """Return the message of an exception, or of one that stands for it where it cannot be sent."""
    where = _behind_own_frames(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, where))
    try:
        message = packed((error.with_traceback(None), text))
        # Some cannot be read again, or are something else then.
        read, _ = unpacked(bytearray(b"".join(bytes(part) for part in message)))
        if isinstance(read, BaseException):
            return message
    except Exception:
        pass
    return packed((RuntimeError(f"{type(error).__name__}: {error}"), text))
