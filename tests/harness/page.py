# SPDX-License-Identifier: Apache-2.0
"""Programs and console sessions of a Markdown page, run as they stand.

A sentence that ends in the name of a file, "`reader.py`:", names the block of code after it. In a
block of the language ``console`` a line that begins with ``$`` is a command; the others are what
the commands of the block print. A line ``...`` stands for any lines, ``...`` inside a line for any
text; of a block without such lines only the exit code counts.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
from dataclasses import dataclass

_FENCED = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_FILE_NAME = re.compile(r"`([\w./-]+\.\w+)`:\s*\Z")
_CONTINUED = "> "


@dataclass(frozen=True)
class Session:
    """A block of commands and what they print."""

    commands: str
    printed: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the output has to match as a whole, trailing blanks apart."""
        lines = []
        for line in self.printed.splitlines():
            if line.strip() == "...":
                lines.append(r"(?:.*\n)*?")
            else:
                text = ".*".join(re.escape(part) for part in line.rstrip().split("..."))
                lines.append(text + r"[ ]*\n")
        return re.compile("".join(lines))


@dataclass(frozen=True)
class Page:
    """What a page has to run.

    Attributes
    ----------
    files
        Text of each program by the name that the page gives it.
    sessions
        Console blocks, in order.
    unnamed
        First lines of blocks of Python that have no name, so that no test can run them.
    """

    files: dict[str, str]
    sessions: list[Session]
    unnamed: list[str]

    @classmethod
    def read(cls, path: pathlib.Path) -> Page:
        """Read a Markdown file; programs may be included by `literalinclude`."""
        text = _include(path)
        files: dict[str, str] = {}
        sessions, unnamed = [], []
        for block in _FENCED.finditer(text):
            _, language, body = block.groups()
            name = _FILE_NAME.search(text[: block.start()])
            if language == "console":
                sessions.append(_session(body))
            elif name is not None:
                files[name[1]] = body
            elif language == "python" and not body.startswith(">>>"):
                unnamed.append(body.splitlines()[0])
        return cls(files, sessions, unnamed)

    def run(self, where: pathlib.Path, env: dict[str, str], timeout: float) -> list[str]:
        """Write the files, run the sessions in order; return what each of them printed.

        A session that fails is an AssertionError with all that it printed.
        """
        for name, text in self.files.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).write_text(text)
        return [_run(session.commands, where, env, timeout) for session in self.sessions]


def _include(path: pathlib.Path) -> str:
    """Return the page with the files that it includes in their places."""

    def included(match: re.Match[str]) -> str:
        options = dict(re.findall(r"^:([\w-]+): *(.*)$", match[2], flags=re.MULTILINE))
        lines = (path.parent / match[1].strip()).read_text().splitlines(keepends=True)
        first = options.get("start-at", "").strip('"')
        start = next(i for i, line in enumerate(lines) if first in line)
        return f"```{options['language']}\n{''.join(lines[start:])}```\n"

    directive = r"```\{literalinclude\} ([^\n]*)\n(.*?)```\n"
    return re.sub(directive, included, path.read_text(), flags=re.DOTALL)


def _session(body: str) -> Session:
    commands, printed, continues = [], [], False
    for line in body.splitlines():
        if line.startswith("$ "):
            commands.append(line.removeprefix("$ "))
        elif continues:
            commands.append(line.removeprefix(_CONTINUED))
        else:
            printed.append(line)
        continues = bool(commands) and line.endswith("\\")
    return Session("\n".join(commands) + "\n", "".join(f"{line}\n" for line in printed))


def _run(commands: str, where: pathlib.Path, env: dict[str, str], timeout: float) -> str:
    """Run commands as a shell does, with those in the background; nothing of them stays behind."""
    script = (
        "set -e; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
        f"{commands}for job in $(jobs -p); do wait $job; done\n"
    )
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=where,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, said = process.communicate()
            raise AssertionError(f"more than {timeout} s:\n{commands}{printed}{said}") from None
    assert process.returncode == 0, f"{commands}{printed}{said}"
    return printed
