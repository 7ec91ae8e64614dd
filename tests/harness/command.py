# SPDX-License-Identifier: Apache-2.0
"""The `fluvial` command inside of a test's process, as the ranks of a job call it."""

from __future__ import annotations

import contextlib
import io
import sys


def call(*words: object) -> tuple[int, str, str]:
    """Run the command with these words; return its exit code and what it printed."""
    from fluvial.cli import command_line

    sys.argv = ["fluvial", *map(str, words)]
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command_line.main()
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()
