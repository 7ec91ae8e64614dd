# SPDX-License-Identifier: Apache-2.0
"""Stand between mpiexec and the program of one rank: tell what it prints and how it ends.

::

    python rank_guard.py --report-to ADDRESS --job NUMBER [--label TEXT] -- PROGRAM ARGUMENT …

mpiexec tells in words of its own, if at all, which rank died of what, and tears lines apart. This
process is the parent of the program, so it knows. It reports to the abstract socket ADDRESS:

=============  ====================================================================================
message        meaning
=============  ====================================================================================
H NUMBER RANK  the first message: the rank that reports
1 TEXT         what the program wrote to its standard output: whole lines, or what waited for its
               end for PARTIAL_LINE_S
2 TEXT         the same of its standard error
X CODE         the program has ended; a signal is 128 + its number
=============  ====================================================================================

After an error it stays until it is told to end, so that mpiexec loses no process before the job is
ended. When the other side says anything, or is gone, the program is killed. The program also dies
with this process, and gets the signals that are sent to it. This file needs nothing but the
standard library, and no site-packages.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys

RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
OWN_RANK_VARIABLE = "FLUVIAL_LAUNCH_RANK"
"""These two are those of `supervisor`, which is not found from here."""
MESSAGE_BYTES_MAX = 1 << 16

PARTIAL_LINE_S = 0.2
LINGER_S = 30.0
"""How long the end of a rank is kept from mpiexec at most."""
NOT_STARTED = 127

_PASSED_ON = tuple(
    getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ABRT")
)
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Output:
    """One of the program's two outputs on its way."""

    def __init__(self, source: int, kind: bytes, label: bytes, target: socket.socket):
        self.source = source
        self.begun = b""
        self._kind = kind
        self._label = label
        self._target = target

    def pass_on(self) -> bool:
        """Pass on what is there; False at the end."""
        data = os.read(self.source, MESSAGE_BYTES_MAX // 2)
        *lines, self.begun = (self.begun + data).split(b"\n")
        self._send(b"".join(self._label + line + b"\n" for line in lines))
        if not data or len(self.begun) > MESSAGE_BYTES_MAX // 2:
            self.finish()
        return bool(data)

    def finish(self) -> None:
        """Pass on a line that has no end yet."""
        if self.begun:
            self._send(self._label + self.begun + (b"\n" if self._label else b""))
            self.begun = b""

    def _send(self, text: bytes) -> None:
        for start in range(0, len(text), MESSAGE_BYTES_MAX):
            with contextlib.suppress(OSError):  # it is not read any more
                self._target.send(self._kind + text[start : start + MESSAGE_BYTES_MAX])


class Guard:
    """The parent of one rank's program."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        ranks = (os.environ[name] for name in RANK_VARIABLES if name in os.environ)
        self.rank = int(next(ranks, "0"))
        self._report = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def run(self) -> int:
        """Run the program to its end and tell of it; the exit code is what mpiexec shall see."""
        try:
            self._report.connect(f"\0{self.options.report_to}")
            self._report.send(f"H{self.options.job} {self.rank}".encode())
        except OSError:
            return NOT_STARTED  # the command that started us is gone
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        child: subprocess.Popen[bytes] | None = None

        def pass_on(number: int, _: object) -> None:
            if child is not None:
                with contextlib.suppress(OSError):
                    os.kill(child.pid, number)

        for number in _PASSED_ON:
            signal.signal(number, pass_on)
        try:
            child = self._start()
        except OSError as error:
            code = NOT_STARTED
            self._report.send(f"2cannot run {self.options.command[0]}: {error.strerror}\n".encode())
        else:
            self._attend(child, wake_read)
            code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        with contextlib.suppress(OSError):
            self._report.send(f"X{code}".encode())
            if code != 0:
                self._report.settimeout(LINGER_S)
                self._report.recv(1)
        return 0

    def _start(self) -> subprocess.Popen[bytes]:
        me = os.getpid()

        def in_child() -> None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != me:
                os._exit(NOT_STARTED)

        return subprocess.Popen(
            self.options.command,
            # Where a Python program is when the time is up, its faulthandler says.
            env={"PYTHONFAULTHANDLER": "1"} | os.environ | {OWN_RANK_VARIABLE: str(self.rank)},
            stdin=None if self.rank == 0 else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=False,  # some of them are MPI's
            preexec_fn=in_child,
        )

    def _attend(self, child: subprocess.Popen[bytes], wake: int) -> None:
        """Return when the program has ended and what it printed is passed on."""
        if child.stdout is None or child.stderr is None:
            raise AssertionError("bug in Fluvial: the program has no pipes")
        label = self.options.label.replace("RANK", str(self.rank)).encode()
        outputs = [
            Output(child.stdout.fileno(), b"1", label, self._report),
            Output(child.stderr.fileno(), b"2", label, self._report),
        ]
        told_to_end = False
        while child.poll() is None or outputs:
            # What its own children print once the program has ended is not waited for.
            patience = None if child.poll() is None else 0.0
            if patience is None and any(output.begun for output in outputs):
                patience = PARTIAL_LINE_S
            watched = [wake, *(output.source for output in outputs)]
            watched += [] if told_to_end else [self._report.fileno()]
            ready = select.select(watched, [], [], patience)[0]
            if wake in ready:
                os.read(wake, 4096)
            if self._report.fileno() in ready:
                told_to_end = True
                child.kill()
            if not ready:
                for output in outputs:
                    output.finish()
                if patience == 0.0:
                    return
            outputs = [o for o in outputs if o.source not in ready or o.pass_on()]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run the program of one rank")
    parser.add_argument("--report-to", required=True, help="name of an abstract socket")
    parser.add_argument("--job", type=int, required=True, help="number of the job there")
    parser.add_argument("--label", default="", help="stands before each line; RANK is the rank")
    parser.add_argument("command", nargs="+", help="program and arguments, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Guard(_parse()).run())
