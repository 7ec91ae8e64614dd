# SPDX-License-Identifier: Apache-2.0
"""What ends a Python function whose task was cancelled, where it neither asks nor waits.

The rank that runs it gets a signal in the thread of the task, and Python calls the handler there,
between two of its instructions, as for Ctrl-C: also in a wait of the system, such as a sleep. The
signal comes again until the handler finds the function in its own code.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import TypeVar, cast

from .. import _core

C = TypeVar("C", bound=Callable[..., object])

_SIGNAL = signal.SIGURG
"""It does nothing by default, and programs have no use for it."""
_NOT_WITHIN = frozenset({"fluvial", "mpi4py", "importlib", "logging", "threading"})
"""Packages whose locks and objects outlive the function; its own code follows soon."""
_CALLERS: set[CodeType] = set()
"""Of functions of this package that do nothing but call the user's."""


def calls_users(function: C) -> C:
    """Declare that what a task calls by this function may be ended by TaskCancelled."""
    _CALLERS.add(cast(FunctionType, function).__code__)
    return function


def listen() -> None:
    """Handle the signal from now on, where this is the thread that can, and no other handler."""
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(ValueError):  # of a second interpreter
            if signal.getsignal(_SIGNAL) is signal.SIG_DFL:
                signal.signal(_SIGNAL, _end_cancelled)


def call_interruptibly(
    function: Callable[..., object], arguments: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """Call the function of a task of one rank; TaskCancelled may come from anywhere in it."""
    return function(*arguments, **keywords)


def _end_cancelled(_signal: int, frame: FrameType | None) -> None:
    while frame is not None and frame.f_code is not call_interruptibly.__code__:
        if frame.f_code not in _CALLERS and _package_of(frame) in _NOT_WITHIN:
            return
        frame = frame.f_back
    if frame is not None and _core.take_cancellation():
        raise _core.TaskCancelled("the task was cancelled while it ran")


def _package_of(frame: FrameType) -> str:
    if frame.f_code.co_filename.startswith("<frozen importlib"):
        return "importlib"
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
