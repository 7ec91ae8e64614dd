# SPDX-License-Identifier: Apache-2.0
"""A rank of an MPI job that runs a script: `python -m fluvial.swift SCRIPT [ARGUMENTS]`."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType

from .._core import Error
from ..flow.pool import Pool
from .running import run_script
from .surroundings import NARROW, TRACE

_SWITCH_S = 2e-4  # so often the interpreter lets the thread go on that serves the pool


def set_up_interpreter() -> None:
    """Let threads take turns more often than Python does by itself."""
    sys.setswitchinterval(_SWITCH_S)


def say_interruptions_in_a_line(path: str) -> None:
    """Have Ctrl-C end the process without a traceback, which would be of the interpreter's code.

    The rank that leads says what the script was at: its interruption has notes of that.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        first: BaseException | None = error
        while first is not None and not hasattr(first, "__notes__"):
            first = first.__context__  # another signal came while it was handled
        for note in getattr(first, "__notes__", ()):
            print(f"fluvial: {path} was interrupted: {note}", file=sys.stderr, flush=True)

    sys.excepthook = hook


def main() -> int:
    """Run the script on the rank that leads, its tasks on the others."""
    path, *arguments = sys.argv[1:]
    set_up_interpreter()
    say_interruptions_in_a_line(path)
    with Pool(trace=os.environ.get(TRACE) or False) as pool:
        if pool.leads:
            try:
                run_script(path, pool, arguments, narrow=bool(os.environ.get(NARROW)))
            except Error as error:
                print(f"fluvial: {error}", file=sys.stderr, flush=True)
                with contextlib.suppress(Error):  # a rank was lost: that has been said
                    pool.shutdown(cancel_futures=True)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
