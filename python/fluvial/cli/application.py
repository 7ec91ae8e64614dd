# SPDX-License-Identifier: Apache-2.0
"""How the command ends: its errors are one red line and exit code 2, its warnings a yellow line."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings

import typer
from rich.console import Console
from rich.text import Text

from .._core import Error
from ..mpi.communicator import world
from .one_voice import one_voice
from .plain_flags import show_plain_flags

_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What writing to a standard stream fails with."""

_OPTIONS = {
    "rendezvous_timeout=": "--wait=",
    "Raise rendezvous_timeout": "Raise --wait",
    "or pass readers=0 to": "or say --readers 0 to",
    "(a slice), or have the nearest one (method='nearest')": (
        "(FROM:TO), or the nearest one: --nearest of `fluvial reduce`"
    ),
    "Give an interval (a slice)": "Give an interval (FROM:TO)",
    "layout stated: open_raw() in C++, fluvial.open(…, raw=…) in Python": (
        "layout stated, which a Python program does: fluvial.open(…, raw=…)"
    ),
}


def new_app(completion: bool = False) -> typer.Typer:
    """Return the command without its words."""
    return typer.Typer(
        add_completion=completion,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Computes on scientific files while reading them, and runs MPI jobs side by side.",
    )


def call(app: typer.Typer) -> None:
    """Run the command line; errors are one red line and exit code 2."""
    show_plain_flags(app)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an encoding may lack characters
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            with one_voice():
                app(prog_name="fluvial")
        finally:
            sys.stdout.flush()
    except Error as error:
        if is_first():
            say(_in_words_of_the_command(str(error)), "red")
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is not None or error.errno not in _OF_OUTPUT:
            raise
        _drop_output()
        say(f"the output cannot be written: got '{error.strerror}'; allowed: what has room", "red")
        sys.exit(2)


def _in_words_of_the_command(message: str) -> str:
    """Return a message with options where it names what Python and C++ have instead."""
    for theirs, ours in _OPTIONS.items():
        message = message.replace(theirs, ours)
    return message


def _open_what_is_closed() -> None:
    """Give the process the streams that the shell has closed (`>&-`); what is printed is lost.

    They get their numbers, too: mpiexec, which this process may start, needs them.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(nowhere, nowhere == number)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Leave nothing that Python would try to print at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_first() -> bool:
    """Tell whether this process speaks for all ranks."""
    comm = world()
    return comm is None or comm.Get_rank() == 0


def say(message: str, colour: str) -> None:
    """Print one line of the command's own on standard error."""
    with contextlib.suppress(OSError):  # nobody reads that either
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            Text(f"fluvial: {message}", style=colour)
        )


def _show_warning(message: object, *_: object) -> None:
    if is_first():
        say(str(message), "yellow")
