# SPDX-License-Identifier: Apache-2.0
"""What the word `reduce` does: opens files, selects, waits, and prints or writes a result."""

from __future__ import annotations

import datetime
import math
import shlex
import sys
import time

import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .._core import Error, InvalidArgument, __version__
from ..base.whole_file import whole_file
from ..compute.registry import Reduced
from ..mpi.communicator import Communicator
from ..scan.file import File, open_files
from ..scan.file_dataset import FileDataset
from ..scan.grouped_dataset import GroupedDataset
from ..scan.pending_scan import PendingScan
from . import selections, tables
from .application import is_first
from .printing import Format, check_rows, print_csv
from .rows import rows_of

_POLL_S = 0.05
_REMEDY = "Reduce over more dimensions (--over), select (--where, --isel), or write it: --out"


def present(result: Reduced, dataset: str, path: str, out: str | None, format: Format) -> None:
    """Write or print a result."""
    result = result if isinstance(result, xr.Dataset) else xr.Dataset(result)
    result.attrs["history"] = _history(result.attrs.get("history"))
    if out is not None:
        _write(result, out)
        return
    check_rows(math.prod(result.sizes.values()), "the result", _REMEDY)
    if format is Format.json:
        tables.print_json({"dataset": dataset, "rows": rows_of(result)})
    elif format is Format.csv:
        print_csv(rows_of(result))
    else:
        tables.print_rows(rows_of(result), f"{dataset} of {path}")


def check_printable(dataset: FileDataset, over: list[str | int] | None) -> None:
    """Refuse, before anything is read, what would print millions of rows."""
    kept = dataset.view.kept
    reduced = kept if over is None else dataset.view.over(over)
    sizes = dict(zip(kept, dataset.shape, strict=True))
    check_rows(math.prod(n for d, n in sizes.items() if d not in reduced), "the result", _REMEDY)


def open_together(paths: list[str], comm: Communicator | None, isolated: bool) -> File:
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


def select(
    file: File,
    name: str,
    isel: list[str],
    where: list[str],
    nearest: bool,
    mask: list[str],
    weights: str | None,
) -> FileDataset:
    """Return a dataset with what is chosen of it, and how it counts, by words."""
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


def group(
    dataset: FileDataset, groupby: str | None, resample: str | None
) -> FileDataset | GroupedDataset:
    """Return a dataset that gives a result for each group, if any groups are asked for."""
    if groupby is not None and resample is not None:
        raise InvalidArgument("--groupby beside --resample: got both; allowed: one of them")
    if groupby is not None:
        return dataset.groupby(groupby)
    if resample is not None:
        dim, _, period = resample.partition("=")
        return dataset.resample(**{dim: period})
    return dataset


def watched(pending: PendingScan, wanted: bool) -> Reduced:
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
