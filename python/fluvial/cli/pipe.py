# SPDX-License-Identifier: Apache-2.0
"""`fluvial pipe`: any series into any other, with progress on a terminal."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from .._core import InvalidArgument
from ..base.messages import shown
from ..mpi.communicator import world
from ..pipeline.run import PipeReport
from ..piping import pipe
from . import selections
from .application import is_first, say

_EVERY_S = 0.1
_INTERRUPTED = 130  # as shells have it: 128 + SIGINT


def add_pipe(app: typer.Typer) -> None:
    """Give the command its word `pipe`."""
    app.command("pipe")(_pipe)


def _pipe(
    names: Annotated[
        list[str], typer.Argument(metavar="SOURCE… DESTINATION", help="Streams, files, data%T.h5.")
    ],
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for steps of files that are being written.")
    ] = False,
    steps: Annotated[
        str | None, typer.Option(help="Numbers of steps: 10:100:10, or 0,5,10:. [default: all]")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Names or patterns: 'meshes/*'. Repeatable.")
    ] = None,
    isel: Annotated[
        list[str], typer.Option(help="A region by position: x=::2, y=0:100. Repeatable.")
    ] = [],  # noqa: B006
    where: Annotated[
        list[str], typer.Option(help="A region by coordinate: x=0:2.5. Repeatable.")
    ] = [],  # noqa: B006
    dtype: Annotated[
        list[str], typer.Option(help="f4: of all floats; 'meshes/*=f4'. Repeatable.")
    ] = [],  # noqa: B006
    strategy: Annotated[
        str, typer.Option(help="Which rank gets what: 'by-host(binpacking)'.")
    ] = "hyperslabs",
    rate: Annotated[float | None, typer.Option(help="Steps a second at most.")] = None,
    original_timing: Annotated[
        bool, typer.Option("--original-timing", help="Steps come as their time says.")
    ] = False,
    speed: Annotated[float, typer.Option(help="How many times as fast as that.")] = 1.0,
    readers: Annotated[
        int | None, typer.Option(min=0, help="Of the stream written: jobs to wait for.")
    ] = None,
    queue_steps: Annotated[
        int | None, typer.Option(min=1, help="Of the stream written: steps queued at most.")
    ] = None,
    full: Annotated[
        str | None, typer.Option(help="When its queue is full: block, spill, discard-oldest …")
    ] = None,
    compression: Annotated[
        str | None, typer.Option(help="Of HDF5 or Zarr that is written: gzip, gzip:9, zstd …")
    ] = None,
    directory: Annotated[str | None, typer.Option(help="Of the contact files of streams.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the other job.")] = 60.0,
    step_timeout: Annotated[float, typer.Option(help="Seconds to wait for a step.")] = 300.0,
    progress: Annotated[bool, typer.Option(help="A bar, on a terminal.")] = True,
) -> None:
    """Put the steps of one series into another: capture, replay, convert, merge.

    fluvial pipe melt melt%T.h5 --steps 0:1000:10 --dtype f4

    Several sources become one series. In parallel: fluvial run -n 4 -m fluvial pipe …
    """
    if len(names) < 2:
        raise InvalidArgument(
            f"the destination is missing: got {shown(names[0])} alone; allowed: SOURCE… DESTINATION"
        )
    both = {"rendezvous_timeout": wait, "step_timeout": step_timeout, "directory": directory}
    writing = {"readers": readers, "queue_steps": queue_steps, "full": full}
    writing |= {"compression": compression}
    watched = _Watched(names[-1], progress)
    try:
        with watched:
            pipe(
                names[:-1],
                names[-1],
                world(),
                strategy=strategy,
                steps=steps,
                datasets=datasets or None,
                isel=selections.to_positions(isel),
                sel=selections.to_labels(where),
                dtype=_to_dtypes(dtype),
                rate=rate,
                original_timing=original_timing,
                speed=speed,
                reading=both | ({"follow": True} if follow else {}),
                writing=both
                | {name: value for name, value in writing.items() if value is not None},
                on_step=watched.update,
            )
    except KeyboardInterrupt:
        if is_first():
            say(f"interrupted; {watched.summary()}", "yellow")
        raise typer.Exit(_INTERRUPTED) from None
    if is_first():
        say(watched.summary(), "green")


def _to_dtypes(words: list[str]) -> str | dict[str, str] | None:
    """Return one dtype, or dtypes by pattern.

    >>> _to_dtypes(["f4"]), _to_dtypes(["*/x=f4", "id=i4"])
    ('f4', {'*/x': 'f4', 'id': 'i4'})
    """
    if not words:
        return None
    pairs = [word.rpartition("=") for word in words]
    if all(equals for _, equals, _ in pairs):
        return {pattern: dtype for pattern, _, dtype in pairs}
    if len(words) == 1:
        return words[0]
    raise InvalidArgument(
        f"--dtype of all beside others: got {shown(words)}; allowed: one dtype alone, or patterns "
        "with theirs, as in 'meshes/*=f4'"
    )


class _Watched:
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
