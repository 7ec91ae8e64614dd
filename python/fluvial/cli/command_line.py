# SPDX-License-Identifier: Apache-2.0
"""All words of the command `fluvial`. Those about files work under mpiexec, too.

A word imports what it needs when it is called, so help and completion come at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .._core import __version__
from .application import call, new_app
from .file_words import add_file_words
from .look_words import add_looks
from .pipe import add_pipe
from .route import add_route
from .run import add_run
from .simulate import add_simulate
from .trace import add_trace

app = new_app(completion=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"fluvial {__version__}")
        raise typer.Exit()


@app.callback()
def _fluvial(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    call(app)


add_file_words(app)
add_looks(app)
add_pipe(app)
add_route(app)
add_run(app)
add_simulate(app)
add_trace(app)
