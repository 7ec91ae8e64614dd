# SPDX-License-Identifier: Apache-2.0
"""A child process of a benchmark: pinned, answering commands, with a deadline on every answer.

Commands and answers are JSON objects, one a line, over a socket of their own; what the child (or a
library inside it) prints goes to a log file, whose end is quoted when the child fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LOG_TAIL_BYTES = 1500


class ChildError(RuntimeError):
    """A child process died, answered with an error, or did not answer in time."""


class Child:
    """One child process and the socket to it; `close` (or the end of ``with``) kills it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cores: Iterable[int],
        log: Path,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
    ) -> None:
        """Start ``command… FD`` where FD is the number of the socket that `serve` listens on."""
        self.log = log
        # Each side has its own cores: what it starts stays there.
        environment = {**(os.environ if environment is None else environment)}
        environment["FLUVIAL_SERVICE_CORES"] = "bound"
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._pending = b""
        with theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=[theirs.fileno(), *pass_fds],
                cwd=cwd,
                start_new_session=True,
            )
        os.sched_setaffinity(self._process.pid, set(cores))

    @property
    def pid(self) -> int:
        """The child's process id, which is also that of its process group."""
        return self._process.pid

    def send(self, command: Mapping[str, Any]) -> None:
        """Send one command; a child that is gone raises ChildError."""
        try:
            self._socket.sendall(json.dumps(command).encode() + b"\n")
        except OSError as error:
            raise ChildError(self._explain("is gone")) from error

    def answer(self, deadline: float) -> dict[str, Any]:
        """Return the next answer; ChildError at `deadline` (time.monotonic), death or error."""
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ChildError(self._explain("gave no answer within its time limit"))
            self._socket.settimeout(left)
            try:
                received = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                received = b""
            if not received:
                raise ChildError(self._explain("died"))
            self._pending += received
        line, self._pending = self._pending.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ChildError(str(answer["error"]))
        return answer

    def fileno(self) -> int:
        """Return the socket, so that a selector can wait for several children."""
        return self._socket.fileno()

    def close(self) -> None:
        """Kill the child and everything that it started, and reap it."""
        self._socket.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _explain(self, what: str) -> str:
        code = self._process.poll()
        ending = "" if code is None else f" (exit status {code})"
        tail = _tail(self.log)
        return f"process {self.pid} {what}{ending}" + (
            f"; it printed last:\n{tail}" if tail else ""
        )


def gather(
    children: Sequence[Child], limit_s: float, while_waiting: Callable[[], None] | None = None
) -> list[dict[str, Any]]:
    """One answer from each child, in order; the first failure raises ChildError at once.

    `while_waiting` is called about every 10 ms until all have answered.
    """
    deadline = time.monotonic() + limit_s
    answers: dict[int, dict[str, Any]] = {}
    with selectors.DefaultSelector() as selector:
        for number, child in enumerate(children):
            selector.register(child, selectors.EVENT_READ, number)
        while len(answers) < len(children):
            left = deadline - time.monotonic()
            if left <= 0:
                waiting = [c for n, c in enumerate(children) if n not in answers]
                waiting[0].answer(deadline)
            pause = left if while_waiting is None else min(left, 0.01)
            for key, _ in selector.select(pause):
                child = children[key.data]
                answers[key.data] = child.answer(deadline)
                selector.unregister(child)
            if while_waiting is not None:
                while_waiting()
    return [answers[number] for number in range(len(children))]


def serve(fd: int, handle: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer, in the child, commands from socket `fd` with `handle` until the parent is gone.

    An exception in `handle` becomes the answer ``{"error": …}`` and ends the child, whose state
    is then unknown.
    """
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the benchmark is gone")
    with socket.socket(fileno=fd) as connection, connection.makefile("rw") as lines:
        for line in lines:
            try:
                answer = handle(json.loads(line))
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            lines.write(json.dumps(answer) + "\n")
            lines.flush()
            if "error" in answer:
                # Leave at once: a library's threads may hang in an orderly exit.
                os._exit(1)


def _tail(log: Path) -> str:
    try:
        data = log.read_bytes()[-_LOG_TAIL_BYTES:]
    except OSError:
        return ""
    return data.decode(errors="replace").strip()
