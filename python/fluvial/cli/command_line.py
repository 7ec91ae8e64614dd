# SPDX-License-Identifier: Apache-2.0
"""All words of the command `fluvial`. Those about files work under mpiexec, too."""

from __future__ import annotations

import datetime
import math
import os
import shlex
import sys
import time
from typing import Annotated

import typer
import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .._core import Error, InvalidArgument, __version__
from ..base.whole_file import whole_file
from ..compute.registry import Reduced
from ..mpi.communicator import Communicator, world
from ..opening import names_files
from ..scan.file import File, open_files
from ..scan.file_dataset import FileDataset
from ..scan.grouped_dataset import GroupedDataset
from ..scan.options import ScanOptions
from ..scan.pending_scan import PendingScan
from ..store.numbered_files import has_number
from . import selections, tables
from .application import call, is_first, new_app
from .look_words import add_looks
from .looks import looking_at
from .operators import to_operators
from .pipe import add_pipe
from .printing import Format, check_rows, print_csv
from .route import add_route
from .run import add_run
from .series_tables import describe_series
from .simulate import add_simulate
from .trace import add_trace

app = new_app(completion=True)
_POLL_S = 0.05
_REMEDY = "Reduce over more dimensions (--over), select (--where, --isel), or write it: --out"


Isolated = Annotated[
    bool, typer.Option("--isolated", help="Another process opens the files first: of strangers.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"fluvial {__version__}")
        raise typer.Exit()


@app.callback()
def _fluvial(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command()
def info(
    files: Annotated[
        list[str], typer.Argument(help="Files, a pattern in quotes, data%T.h5, or a stream.")
    ],
    attributes: Annotated[bool, typer.Option("--attributes", "-a", help="Print all.")] = False,
    format: Annotated[Format, typer.Option(help="table, json or csv.")] = Format.table,
    isolated: Isolated = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for a stream.")] = 5.0,
    directory: Annotated[str | None, typer.Option(help="Of the contact file of a stream.")] = None,
) -> None:
    """Say what is in a file, several as one, or a stream: datasets, shapes, layout, attributes.

    Of a stream it is the newest step. Its writer does not wait for this.
    """
    if len(files) == 1 and _is_series(files[0]):
        with looking_at(files[0], wait, directory, isolated) as look:
            described = describe_series(look)
    else:
        with _open(files, world(), isolated) as file:
            described = tables.describe_file(file)
    if not is_first():
        return
    if format is Format.json:
        tables.print_json(described)
    elif format is Format.csv:
        print_csv([_in_cells(dataset) for dataset in described["datasets"]])
    else:
        tables.print_file(described, attributes)


def _is_series(name: str) -> bool:
    """Tell whether a name is that of a stream, or of numbered files."""
    return not os.path.exists(name) and (has_number(name) or not names_files(name))


def _in_cells(dataset: tables.Described) -> tables.Row:
    """Return a described dataset as cells of text."""
    attrs = dataset.get("attributes", {})
    row = {key: value for key, value in dataset.items() if key != "attributes"}
    row |= {key: " ".join(map(str, row[key])) for key in ("dims", "shape") if key in row}
    return {**row, "units": attrs.get("units", attrs.get("unitSI"))}


@app.command()
def reduce(
    arguments: Annotated[
        list[str], typer.Argument(metavar="FILE… DATASET", help="Files as one, and a dataset.")
    ],
    op: Annotated[
        str, typer.Option(help="Operators with commas: mean,max,quantile(0.9),histogram(0:10:20).")
    ] = "mean",
    over: Annotated[
        str | None, typer.Option(help="Dimensions to reduce, with commas. [default: all]")
    ] = None,
    where: Annotated[
        list[str], typer.Option(help="Select by coordinate: lat=-30:30, time=2000-01. Repeatable.")
    ] = [],  # noqa: B006
    isel: Annotated[
        list[str], typer.Option(help="Select by position: level=0, x=::2. Repeatable.")
    ] = [],  # noqa: B006
    nearest: Annotated[bool, typer.Option(help="Labels of --where: take the nearest.")] = False,
    mask: Annotated[
        list[str], typer.Option(help="What counts: 'temperature > 273'. Repeatable.")
    ] = [],  # noqa: B006
    weights: Annotated[
        str | None, typer.Option(help="cos(lat), or a 1-D variable of the file.")
    ] = None,
    groupby: Annotated[
        str | None, typer.Option(help="A result for each: time.month, time.season, lat.")
    ] = None,
    resample: Annotated[
        str | None, typer.Option(help="A result for each period: time=MS, time=7D.")
    ] = None,
    skipna: Annotated[bool, typer.Option(help="Pass over missing values, or propagate.")] = True,
    threads: Annotated[int, typer.Option(min=0, help="Of a rank; 0: its cores.")] = 0,
    aggregators: Annotated[int, typer.Option(min=0, help="Ranks that read; 0: chosen.")] = 0,
    buffer: Annotated[str | None, typer.Option(help="Bytes of a read: '4 MiB'.")] = None,
    memory: Annotated[
        str | None, typer.Option(help="Bytes of a rank beside results. [default: 64MiB]")
    ] = None,
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="The same result to the bit in every run.")
    ] = False,
    out: Annotated[str | None, typer.Option(help="Write the result to this netCDF file.")] = None,
    format: Annotated[Format, typer.Option(help="table, json or csv.")] = Format.table,
    progress: Annotated[bool, typer.Option(help="A bar, on a terminal.")] = True,
    isolated: Isolated = False,
) -> None:
    """Reduce a dataset of a file, or of several as one, while reading it.

    fluvial reduce t.nc temperature --op mean,max --over time --where lat=-30:30 --out result.nc
    """
    if len(arguments) < 2:
        raise InvalidArgument(
            f"a file or the dataset is missing: got {' '.join(arguments)!r}; "
            "allowed: FILE… DATASET. `fluvial info FILE` lists the datasets."
        )
    comm = world()
    with _open(arguments[:-1], comm, isolated) as file:
        dataset = _select(file, arguments[-1], isel, where, nearest, mask, weights)
        grouped = _group(dataset, groupby, resample)
        operators = to_operators(op, None if skipna else False)
        if out is None and groupby is None and resample is None:
            _check_printable(dataset, selections.to_names(over))
        options: ScanOptions = {
            "threads": threads,
            "aggregators": aggregators,
            "buffer": buffer,
            "memory": memory,
            "reproducible": reproducible,
            "comm": comm,
        }
        pending = grouped.start(
            operators,
            selections.to_names(over),
            skipna=None if skipna else False,
            min_count=1,
            **options,
        )
        result = _watched(pending, progress)
        if is_first():
            _present(result, dataset.name, file.path, out, format)


def _present(result: Reduced, dataset: str, path: str, out: str | None, format: Format) -> None:
    """Write or print a result."""
    result = result if isinstance(result, xr.Dataset) else xr.Dataset(result)
    result.attrs["history"] = _history(result.attrs.get("history"))
    if out is not None:
        _write(result, out)
        return
    check_rows(math.prod(result.sizes.values()), "the result", _REMEDY)
    if format is Format.json:
        tables.print_json({"dataset": dataset, "rows": tables.rows_of(result)})
    elif format is Format.csv:
        print_csv(tables.rows_of(result))
    else:
        tables.print_rows(tables.rows_of(result), f"{dataset} of {path}")


def _check_printable(dataset: FileDataset, over: list[str | int] | None) -> None:
    """Refuse, before anything is read, what would print millions of rows."""
    kept = dataset.view.kept
    reduced = kept if over is None else dataset.view.over(over)
    sizes = dict(zip(kept, dataset.shape, strict=True))
    check_rows(math.prod(n for d, n in sizes.items() if d not in reduced), "the result", _REMEDY)


def _open(paths: list[str], comm: Communicator | None, isolated: bool) -> File:
    """Open on every rank, or fail on every rank."""
    file, failure = None, None
    try:
        file = open_files(paths, comm=comm, isolated=isolated)
    except Error as error:
        failure = error
    if comm is not None:
        for message in comm.allgather(None if failure is None else str(failure)):
            if message is not None and failure is None:
                raise InvalidArgument(message)
    if failure is not None:
        raise failure
    if file is None:
        raise AssertionError("bug in Fluvial: no file and no failure")
    return file


def _select(
    file: File,
    name: str,
    isel: list[str],
    where: list[str],
    nearest: bool,
    mask: list[str],
    weights: str | None,
) -> FileDataset:
    dataset = file[name].isel(selections.to_positions(isel))
    for dim, label in selections.to_labels(where).items():
        near = nearest and not isinstance(label, slice)
        label = _turned(label, dataset, dim) if isinstance(label, slice) else label
        dataset = dataset.sel({dim: label}, method="nearest" if near else None)
    for condition in mask:
        dataset = dataset.where(condition)
    return dataset if weights is None else dataset.weighted(weights)


def _turned(ends: slice, dataset: FileDataset, dim: str) -> slice:
    """FROM:TO names an interval, whichever way the coordinate runs."""
    coord = dataset.coords.get(dim)
    if coord is None or coord.size < 2 or not coord.to_index().is_monotonic_decreasing:
        return ends
    low, high = ends.start, ends.stop
    upwards = low is None or high is None or low < high
    return slice(high, low) if upwards else ends


def _group(
    dataset: FileDataset, groupby: str | None, resample: str | None
) -> FileDataset | GroupedDataset:
    if groupby is not None and resample is not None:
        raise InvalidArgument("--groupby beside --resample: got both; allowed: one of them")
    if groupby is not None:
        return dataset.groupby(groupby)
    if resample is not None:
        dim, _, period = resample.partition("=")
        return dataset.resample(**{dim: period})
    return dataset


def _watched(pending: PendingScan, wanted: bool) -> Reduced:
    """Wait, with a bar on a terminal."""
    if not wanted or not sys.stderr.isatty() or not is_first():
        return pending.wait()
    columns = TextColumn("reading"), BarColumn(), TextColumn("{task.percentage:3.0f} %")
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=1.0)
        while not pending.test():
            bar.update(task, completed=pending.progress)
            time.sleep(_POLL_S)
        return pending.wait()


def _write(result: xr.Dataset, path: str) -> None:
    """Write netCDF-4."""
    result.attrs.setdefault("Conventions", "CF-1.11")
    try:
        whole = {name: {"_FillValue": None} for name in result.coords}
        with whole_file(path) as partial:
            result.to_netcdf(partial, engine="h5netcdf", encoding=whole)
    except OSError as error:
        raise InvalidArgument(
            f"cannot write the result: got {path!r} ({error}); allowed: a path in a folder that "
            "exists and may be written to"
        ) from None


def _history(before: object) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"{now} fluvial {__version__}: {shlex.join(['fluvial', *sys.argv[1:]])}"
    return f"{line}\n{before}" if before else line


def main() -> None:
    """Run the command line."""
    call(app)


add_looks(app)
add_pipe(app)
add_route(app)
add_run(app)
add_simulate(app)
add_trace(app)
