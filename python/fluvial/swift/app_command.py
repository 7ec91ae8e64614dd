# SPDX-License-Identifier: Apache-2.0
"""Commands of app functions, as a rank of a pool runs them."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys

from ..launch.rank_environment import outside_of_jobs

_OUTPUT_SHOWN = 4000


class CommandFailed(Exception):  # noqa: N818
    """A command ended with another code than 0, or without a file that it should have written."""


def run_command(
    words: list[str], streams: dict[str, str], inputs: list[str], outputs: dict[str, str]
) -> None:
    """Run a command; `outputs` has for each path at which it writes a file where that belongs.

    A file appears at its place when it is whole: when the command has ended with code 0. MPI
    programs among the commands do not take themselves for ranks of this job.
    """
    for path in inputs:
        if not os.path.exists(path):
            raise FileNotFoundError(f"an input of {words[0]} is missing: no such file {path!r}")
    folders = {os.path.dirname(path) for path in outputs}
    for folder in folders:
        os.makedirs(folder)
    try:
        with contextlib.ExitStack() as opened:
            said = _run(words, {
                name: opened.enter_context(open(path, "rb" if name == "stdin" else "wb"))
                for name, path in streams.items()
            })  # fmt: skip
        for staged, path in outputs.items():
            if not os.path.exists(staged):
                raise CommandFailed(
                    f"`{shlex.join(words)}` wrote no file {os.path.basename(path)!r}{_shown(said)}"
                )
            os.replace(staged, path)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _run(words: list[str], streams: dict[str, object]) -> str:
    """Run a command; return what it printed where it was not redirected, which is printed here."""
    pipes = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in streams}
    try:
        ended = subprocess.run(
            words,
            env=outside_of_jobs(os.environ),
            check=False,
            **{"stdin": subprocess.DEVNULL, **streams, **pipes},  # type: ignore[call-overload]
        )
    except FileNotFoundError:
        raise CommandFailed(f"no such command: got {words[0]!r}; allowed: one on PATH") from None
    except PermissionError:
        raise CommandFailed(f"{words[0]!r} is not executable: `chmod +x` makes it so") from None
    printed, said = ended.stdout or b"", ended.stderr or b""
    for content, stream in ((printed, sys.stdout), (said, sys.stderr)):
        if content:
            stream.write(content.decode(errors="replace"))
            stream.flush()
    text = (printed + said).decode(errors="replace")
    if ended.returncode < 0:
        raise CommandFailed(
            f"`{shlex.join(words)}` was killed by signal {-ended.returncode}{_shown(text)}"
        )
    if ended.returncode:
        raise CommandFailed(
            f"`{shlex.join(words)}` ended with code {ended.returncode}{_shown(text)}"
        )
    return text


def _shown(text: str) -> str:
    text = text.strip()
    return f"\noutput: {text[-_OUTPUT_SHOWN:]}" if text else ""
