# SPDX-License-Identifier: Apache-2.0
"""The command `fluvial run` as a test starts it, and the processes that it starts."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.jobs import wait_until


@dataclass(frozen=True)
class Ended:
    """How a call ended: its exit code, and what it printed on each stream."""

    code: int
    printed: str
    said: str

    @property
    def lines(self) -> list[str]:
        """The lines that were printed, in the order of the alphabet."""
        return sorted(self.printed.splitlines())


class FluvialRun:
    """Calls `fluvial run` in a folder; as a context manager it checks that no process stays."""

    def __init__(self, where: pathlib.Path):
        self.where = where / "run"
        self.where.mkdir()
        self._mark = f"FLUVIAL_RUN_TEST={uuid.uuid4().hex}"
        self._started: list[subprocess.Popen[str]] = []

    def write(self, name: str, text: str, executable: bool = False) -> None:
        """Write a program into the folder."""
        (self.where / name).write_text(text)
        if executable:
            (self.where / name).chmod(0o755)

    def start(
        self,
        *words: object,
        env: Mapping[str, str] | None = None,
        cores: Iterable[int] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[str]:
        """Start a call and return its process."""
        name, _, value = self._mark.partition("=")
        here = {name: value, "FLUVIAL_DIRECTORY": str(self.where)}
        self._started.append(
            subprocess.Popen(
                [sys.executable, "-m", "fluvial", "run", *map(str, words)],
                cwd=self.where,
                env=os.environ | here | (env or {}),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
            )
        )
        return self._started[-1]

    def finish(self, process: subprocess.Popen[str], timeout: float = 60.0) -> Ended:
        """Wait for the end of a call and check that no process of it is left."""
        printed, said = process.communicate(timeout=timeout)
        assert self.processes() == {}, "processes were left behind"
        return Ended(process.returncode, printed, said)

    def __call__(
        self,
        *words: object,
        code: int = 0,
        typed: str | None = None,
        env: Mapping[str, str] | None = None,
        cores: Iterable[int] | None = None,
    ) -> Ended:
        """Call it and return how it ended, which has to be with exit code `code`."""
        stdin = subprocess.DEVNULL if typed is None else subprocess.PIPE
        process = self.start(*words, env=env, cores=cores, stdin=stdin)
        if process.stdin is not None and typed is not None:
            process.stdin.write(typed)
        ended = self.finish(process)
        assert ended.code == code, ended
        return ended

    def processes(self) -> dict[int, str]:
        """Return what runs with this test's mark in its environment: command lines by process."""
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return found

    def one_of(self, word: str, without: str = "\0") -> int:
        """Wait for a process with `word` in its command line and return its process id."""

        def matching() -> list[int]:
            return [
                p for p, line in self.processes().items() if word in line and without not in line
            ]

        return wait_until(matching, what=f"a process with {word!r}")[0]

    def wait_until_all_are_gone(self) -> None:
        """Wait until no process is left."""
        wait_until(lambda: not self.processes(), what="the end of all processes")

    def __enter__(self) -> FluvialRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for process in self._started:
            process.kill()
            process.communicate()
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert kind is not None or not left, f"processes were left behind: {left}"
