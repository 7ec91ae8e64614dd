# SPDX-License-Identifier: Apache-2.0
"""A child by fork() that comes back from a function which a rank runs for a pool.

It is no rank: what it returned is not the task's result, and the pool, MPI and what runs at the
exit of a rank are its parent's. So it ends where the function does.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import NoReturn


def end_child(error: BaseException | None) -> NoReturn:
    """End this process with the exit code of a program that returned, or raised `error`."""
    code = 0
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            code = error.code or 0
        else:
            print(error.code, file=sys.stderr)
            code = 1
    elif error is not None:
        traceback.print_exception(error)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # none, or closed
            stream.flush()
    os._exit(code)
