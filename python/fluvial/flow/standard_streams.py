# SPDX-License-Identifier: Apache-2.0
"""The standard input of a program that runs as a task, and its outputs."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import IO, TypeAlias

from .. import _core
from ..base.arguments import to_path
from ..base.messages import shown

_LOOK_EVERY_S = 0.1
_Outputs: TypeAlias = tuple[bytes | None, bytes | None]


@contextlib.contextmanager
def input_file(given: bytes) -> Iterator[IO[bytes]]:
    """Give a file with this content, to be read from its beginning.

    A program that reads a file, and not a pipe, may take it as late as it wants, or not at all.
    """
    with _unnamed_file() as file:
        file.write(given)
        file.seek(0)
        yield file


def _unnamed_file() -> IO[bytes]:
    in_memory = getattr(os, "memfd_create", None)
    return tempfile.TemporaryFile() if in_memory is None else open(in_memory("input"), "w+b")


def outputs_of(process: subprocess.Popen[bytes], timeout: float | None) -> tuple[_Outputs, bool]:
    """Return what a program wrote, and whether it was killed at its time limit.

    Serves the streams and scans of this thread meanwhile.

    Raises
    ------
    TaskCancelled
        The task that runs it was cancelled; it is killed.
    """
    # A rank that has nothing to serve needs no second thread.
    read = _Reading(process).communicate if _core.serves() else process.communicate
    end = math.inf if timeout is None else time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired, _core.TaskCancelled):
            return read(timeout=min(left, _LOOK_EVERY_S)), False
        if _core.task_cancelled():
            process.terminate()  # it ends all processes that came of the program
            with contextlib.suppress(_core.TaskCancelled):
                read()
            raise _core.TaskCancelled("a program was killed: its task was cancelled")
    process.terminate()
    return read(), True


class _Reading:
    """Reads what a program writes in a thread, for one that serves while it waits for that."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._outputs: _Outputs = (None, None)
        self._error: Exception | None = None
        self._over = _core.ServingEvent()
        threading.Thread(target=self._read, name="fluvial-command", daemon=True).start()

    def communicate(self, timeout: float = math.inf) -> _Outputs:
        """Do what that of the process does."""
        if not self._over.wait(timeout):
            raise subprocess.TimeoutExpired(self._process.args, timeout)
        if self._error is not None:
            raise self._error
        return self._outputs

    def _read(self) -> None:
        try:
            self._outputs = self._process.communicate()
        except Exception as error:
            self._error = error
        finally:
            self._over.set()


def output_ends(
    opened: contextlib.ExitStack,
    folder: pathlib.Path,
    outputs: tuple[str | os.PathLike[str] | None, ...],
) -> list[int | IO[bytes]]:
    """Return where the outputs lead; both that are to have the same file share it."""
    ends: list[int | IO[bytes]] = []
    files: dict[str, IO[bytes]] = {}
    for path in outputs:
        if path is None:
            ends.append(subprocess.PIPE)
            continue
        place = os.path.realpath(folder / to_path(path, "a file for the output"))
        if place not in files:
            files[place] = opened.enter_context(_new(folder, path))
        ends.append(files[place])
    return ends


def _new(folder: pathlib.Path, path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        return (folder / to_path(path, "a file for the output")).open("wb")
    except OSError as error:
        raise _core.NoSuchFile(
            f"a file for a program's output cannot be written: got {shown(str(path))} "
            f"({error.strerror}); allowed: a path in a folder that exists"
        ) from None
