# SPDX-License-Identifier: Apache-2.0
"""Stand between mpiexec and the program of one rank: tell what it prints and how it ends.

::

    python rank_guard.py --report-to ADDRESS --job NUMBER [--label JOB] -- PROGRAM ARGUMENT …

mpiexec tells in words of its own, if at all, which rank died of what, and tears lines apart. This
process is the parent of the program, so it knows. It reports to the abstract socket ADDRESS:

=============  ====================================================================================
message        meaning
=============  ====================================================================================
H NUMBER RANK  the first message: the rank that reports
1 TEXT         what the program wrote to its standard output: whole lines, or, without labels, what
               waited for its end for PARTIAL_LINE_S
2 TEXT         the same of its standard error
3 TEXT, 4 TEXT the beginning of a 1 or 2 that is longer than a message
X CODE         the program has ended; a signal is minus its number
=============  ====================================================================================

After an error it stays until it is told to end, so that mpiexec loses no process before the job is
ended. When the other side says `E`, or is gone, the program is killed; `S NUMBER` is a signal for
it. The program also dies with this process, and gets the signals that are sent to it. This file
needs nothing but the standard library, and no site-packages.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
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
LABELLED_BYTES_MAX = 1 << 24
"""How much of a line with a label is kept until its end comes."""
LINGER_S = 30.0
"""How long the end of a rank is kept from mpiexec at most."""
NOT_STARTED = 127
_INTERPRETER_BYTES_MAX = 256

_BEGINNING = {b"1": b"3", b"2": b"4"}
_PASSED_ON = tuple(
    getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ABRT")
)
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Output:
    """One of the program's two outputs on its way."""

    def __init__(self, source: int, kind: bytes, label: bytes, target: socket.socket):
        self.source = source
        self._begun = bytearray()
        self._most = LABELLED_BYTES_MAX if label else MESSAGE_BYTES_MAX // 2
        self._kind = kind
        self._label = label
        self._target = target

    @property
    def is_due(self) -> bool:
        """Whether a line is passed on in pieces when its end is late, as a prompt is."""
        return bool(self._begun) and not self._label

    def pass_on(self) -> bool:
        """Pass on what is there; False at the end."""
        data = os.read(self.source, MESSAGE_BYTES_MAX // 2)
        lines, end, rest = data.rpartition(b"\n")
        if end:
            whole = (bytes(self._begun) + lines).split(b"\n")
            self._send(b"".join(self._label + line + end for line in whole))
            self._begun.clear()
        self._begun += rest
        if not data or len(self._begun) > self._most:
            self.finish()
        return bool(data)

    def finish(self) -> None:
        """Pass on a line that has no end yet."""
        if self._begun:
            self._send(self._label + self._begun + (b"\n" if self._label else b""))
            self._begun.clear()

    def _send(self, text: bytes) -> None:
        for start in range(0, len(text), MESSAGE_BYTES_MAX):
            piece = text[start : start + MESSAGE_BYTES_MAX]
            is_last = start + MESSAGE_BYTES_MAX >= len(text)
            with contextlib.suppress(OSError):  # it is not read any more
                self._target.send((self._kind if is_last else _BEGINNING[self._kind]) + piece)


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
            self._report.send(b"2" + os.fsencode(_why_not(self.options.command[0], error)))
        else:
            self._attend(child, wake_read)
            code = child.returncode
        with contextlib.suppress(OSError):
            self._report.send(f"X{code}".encode())
            if code != 0:
                self._report.settimeout(LINGER_S)
                while self._report.recv(1) == b"S":
                    pass
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
        label = b""
        if self.options.label is not None:
            label = os.fsencode(f"[{f'{self.options.label} {self.rank}'.lstrip()}] ")
        outputs = [
            Output(child.stdout.fileno(), b"1", label, self._report),
            Output(child.stderr.fileno(), b"2", label, self._report),
        ]
        told_to_end = False
        while child.poll() is None or outputs:
            # What its own children print once the program has ended is not waited for.
            patience = None if child.poll() is None else 0.0
            if patience is None and any(output.is_due for output in outputs):
                patience = PARTIAL_LINE_S
            watched = [wake, *(output.source for output in outputs)]
            watched += [] if told_to_end else [self._report.fileno()]
            ready = select.select(watched, [], [], patience)[0]
            if wake in ready:
                os.read(wake, 4096)
            if self._report.fileno() in ready:
                told_to_end = not self._obey(child)
            if not ready:
                for output in outputs:
                    output.finish()  # with a label only behind the program's end
                if patience == 0.0:
                    return
            outputs = [o for o in outputs if o.source not in ready or o.pass_on()]

    def _obey(self, child: subprocess.Popen[bytes]) -> bool:
        """Do what the other side says; False when the program shall end."""
        try:
            said = self._report.recv(MESSAGE_BYTES_MAX)
        except OSError:
            said = b""
        if said.startswith(b"S"):
            child.send_signal(int(said[1:]))
            return True
        child.kill()
        return False


def _why_not(program: str, error: OSError) -> str:
    """Return a sentence on why a program cannot be run."""
    why = f" ({error.strerror})"
    if error.errno == errno.ENOEXEC:
        why = ", which begins with no #! line and is no executable of this machine"
    elif error.errno == errno.ENOENT and os.path.exists(program):
        why = ", whose interpreter does not exist"
        with contextlib.suppress(OSError), open(program, "rb") as file:
            first = os.fsdecode(file.readline(_INTERPRETER_BYTES_MAX)).strip()
            why += f" (its first line is {first})" if first.startswith("#!") else ""
    return (
        f"fluvial: cannot run the program: got {program}{why}; allowed: an executable, or a "
        "script whose first line is #! and an interpreter that exists\n"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run the program of one rank")
    parser.add_argument("--report-to", required=True, help="name of an abstract socket")
    parser.add_argument("--job", type=int, required=True, help="number of the job there")
    parser.add_argument("--label", help="the job's name, with the rank before each line; or empty")
    parser.add_argument("command", nargs="+", help="program and arguments, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Guard(_parse()).run())
