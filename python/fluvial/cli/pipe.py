# SPDX-License-Identifier: Apache-2.0
"""`fluvial pipe`: any series into any other."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from .._core import InvalidArgument
from ..base.messages import shown
from ..mpi.communicator import world
from . import selections
from .application import is_first, say

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
    until: Annotated[
        str | None, typer.Option(help="The same, to the end when a file of this path appears.")
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Numbers of steps: 10:50:10, or 0,5,10:. \\[default: all]")
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
    from ..base.arguments import to_choice
    from ..opening import Full
    from ..piping import pipe
    from .pipe_progress import PipeProgress

    if full is not None:
        to_choice(full, "--full", get_args(Full))
    both = {"rendezvous_timeout": wait, "step_timeout": step_timeout, "directory": directory}
    writing = {"readers": readers, "queue_steps": queue_steps, "full": full}
    writing |= {"compression": compression}
    watched = PipeProgress(names[-1], progress)
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
                reading=both | ({"follow": until or True} if follow or until else {}),
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
