# SPDX-License-Identifier: Apache-2.0
"""The words `ls`, `dump`, `plot` and `watch`: looking at files and at streams alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from .._core import InvalidArgument
from . import selections
from .application import is_first, say
from .printing import ROWS_MAX, Format, check_rows, print_as

if TYPE_CHECKING:
    from ..stage.lazy_dataset import LazyDataset
    from .looks import Look

Name = Annotated[str, typer.Argument(metavar="NAME", help="A file, data%T.h5, or a stream.")]
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="Its name in a step.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a stream, and for its step.")]
Directory = Annotated[str | None, typer.Option(help="Of the contact file of a stream.")]
Step = Annotated[
    int | None,
    typer.Option(help="Number of the step; the first unless given, of a stream the newest."),
]
Isel = Annotated[list[str], typer.Option(help="Select by position: x=::2, y=0. Repeatable.")]
Where = Annotated[list[str], typer.Option(help="Select by coordinate: x=0:2.5. Repeatable.")]
Formats = Annotated[Format, typer.Option(help="table, json or csv.")]
_WAIT_S = 5.0
_BINS_MAX = 1_000_000


def add_looks(app: typer.Typer) -> None:
    """Give the command its words that look at series."""
    app.command("ls")(_ls)
    app.command("dump")(_dump)
    app.command("plot")(_plot)
    app.command("watch")(_watch)


def _ls(
    name: Name,
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="[DATASET]…", help="Names or patterns.")
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Least, largest and mean element, each step.")
    ] = False,
    steps: Annotated[
        str | None, typer.Option(help="With -l: numbers of steps, 10:50:10. \\[default: all]")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="With -l: steps of a stream; 1 unless given.")
    ] = None,
    wait: Wait = _WAIT_S,
    directory: Directory = None,
    format: Formats = Format.table,
) -> None:
    """List the datasets of a series; -l: with min, max and mean of each step.

    fluvial ls melt -l 'particles/atoms/position/*'
    """
    from .looks import looking_at
    from .series_tables import dataset_rows, statistic_rows
    from .tables import left_out_lines

    if not long and (steps is not None or count is not None):
        option = "--count" if steps is None else "--steps"
        raise InvalidArgument(f"{option} without -l: got {option}; allowed: beside --long (-l)")
    with looking_at(name, wait, directory) as look:
        if long:
            print_as(statistic_rows(look, datasets or [], steps, count), name, format)
        else:
            left_out = {} if datasets else look.left_out
            print_as(dataset_rows(look, datasets or []), name, format, {"left_out": left_out})
            if format is Format.table and is_first():
                for line in left_out_lines(left_out):
                    say(line, "yellow")


def _dump(
    name: Name,
    dataset: Dataset,
    step: Step = None,
    isel: Isel = [],  # noqa: B006
    where: Where = [],  # noqa: B006
    rows: Annotated[int, typer.Option(min=1, help="Refuse to print more than these.")] = ROWS_MAX,
    wait: Wait = _WAIT_S,
    directory: Directory = None,
    format: Formats = Format.table,
) -> None:
    """Print the elements of a dataset in one step, with their coordinates.

    fluvial dump run.h5 meshes/E/x --step 100 --isel y=0 --format csv
    """
    import xarray as xr

    from .looks import looking_at
    from .rows import rows_of

    with looking_at(name, wait, directory) as look:
        chosen = _selected(look, dataset, step, isel, where)
        remedy = (
            "Select a part by --isel or --where, or reduce it: fluvial reduce; --rows allows more"
        )
        check_rows(math.prod(chosen.shape), f"'{dataset}'", remedy, rows)
        array = chosen.read()
        unneeded = [c for c in array.coords if c not in array.dims]
        array = array.drop_vars(unneeded)
        if dataset in array.dims:  # a coordinate; xarray has no variable beside it
            array = array.drop_vars(dataset, errors="ignore").rename({dataset: "index"})
        frame = xr.Dataset({dataset: array})
        print_as(rows_of(frame), f"{dataset} of {name}", format)


def _plot(
    name: Name,
    dataset: Dataset,
    out: Annotated[str, typer.Option("--out", "-o", help="The picture: .png, .pdf, .svg.")],
    step: Step = None,
    isel: Isel = [],  # noqa: B006
    where: Where = [],  # noqa: B006
    histogram: Annotated[
        int | None,
        typer.Option(min=1, max=_BINS_MAX, metavar="BINS", help="How often which values are."),
    ] = None,
    wait: Wait = _WAIT_S,
    directory: Directory = None,
) -> None:
    """Draw a slice of a dataset in one step, or a histogram of its elements.

    fluvial plot run.h5 meshes/rho --step 100 --isel z=16 -o rho.png
    """
    from .looks import looking_at
    from .pictures import check_picture, draw

    check_picture(out)
    with looking_at(name, wait, directory) as look:
        chosen = _selected(look, dataset, step, isel, where)
        draw(chosen, out, f"{dataset} of {name}", histogram, look.live)
    if is_first():
        say(f"drawn: {out}", "green")


def _watch(
    name: Name,
    interval: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks.")] = 1.0,
    count: Annotated[
        int | None, typer.Option(min=1, help="Looks. \\[default: until the series ends]")
    ] = None,
    wait: Wait = _WAIT_S,
    directory: Directory = None,
    format: Formats = Format.table,
) -> None:
    """Watch a series: steps and bytes a second; of a stream the queue, and how its readers lag.

    Of JSON there is one line a look. CSV has a line for each reader.
    """
    from .looks import looking_at
    from .watching import watch

    with looking_at(name, wait, directory) as look:
        watch(look, interval, count, format)


def _selected(
    look: Look, name: str, number: int | None, isel: list[str], where: list[str]
) -> LazyDataset:
    """Return what is selected of a dataset, lazily; StepDataset of a stream, FileDataset else."""
    dataset = look.step(number)[name].isel(selections.to_positions(isel))
    return dataset.sel(selections.to_labels(where))
