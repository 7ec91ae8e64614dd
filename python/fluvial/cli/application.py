# SPDX-License-Identifier: Apache-2.0
"""How the command ends: its errors are one red line and exit code 2, its warnings a yellow line."""

from __future__ import annotations

import os
import sys
import warnings

import typer
from rich.console import Console
from rich.text import Text

from .._core import Error
from ..mpi.communicator import world


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
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        app(prog_name="fluvial")
    except Error as error:
        if is_first():
            say(str(error), "red")
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def is_first() -> bool:
    """Tell whether this process speaks for all ranks."""
    comm = world()
    return comm is None or comm.Get_rank() == 0


def say(message: str, colour: str) -> None:
    """Print one line of the command's own on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text(f"fluvial: {message}", style=colour)
    )


def _show_warning(message: object, *_: object) -> None:
    if is_first():
        say(str(message), "yellow")
