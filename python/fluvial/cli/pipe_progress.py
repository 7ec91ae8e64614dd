# SPDX-License-Identifier: Apache-2.0
"""How far a pipe is: a bar on a terminal, and a line at its end."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..pipeline.run import PipeReport
from .application import is_first

_EVERY_S = 0.1


class PipeProgress:
    """A bar on a terminal while steps go by; what is said at the end."""

    def __init__(self, target: str, wanted: bool) -> None:
        self._target = target
        self._report = PipeReport()
        self._shown_s = 0.0
        self._bar: Progress | None = None
        if wanted and is_first() and sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> None:
        if self._bar is not None:
            self._task = self._bar.add_task("waiting", total=None)
            self._bar.start()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, report: PipeReport) -> None:
        """Take note of a step."""
        self._report = report
        now = time.monotonic()
        if self._bar is not None and now - self._shown_s >= _EVERY_S:
            self._shown_s = now
            self._bar.update(
                self._task,
                description=_numbers(report),
                total=report.total,
                completed=report.steps + report.discarded,
            )

    def summary(self) -> str:
        """Return what was done, on one line."""
        report = self._report
        more = [
            f"{count} steps {what}"
            for count, what in (
                (report.lost, "were discarded before they came here"),
                (report.discarded, "were discarded by the queue of the destination"),
            )
            if count
        ]
        if report.steps:
            more.insert(0, f"{report.loading:.2f} s loading, {report.storing:.2f} s storing")
        return "; ".join([f"{_numbers(report)} to {self._target}", *more])


def _numbers(report: PipeReport) -> str:
    """Return steps, bytes and throughput.

    >>> _numbers(PipeReport(steps=3, bytes=6_000_000, seconds=2.0))
    '3 steps, 6.0 MB, 3.0 MB/s'
    """
    megabytes, speed = report.bytes / 1e6, report.bytes_per_second / 1e6
    return f"{report.steps} steps, {megabytes:.1f} MB, {speed:.1f} MB/s"
