# SPDX-License-Identifier: Apache-2.0
"""What the word `reduce` does: opens files, selects, waits, and prints or writes a result."""

from __future__ import annotations

import contextlib
import datetime
import glob
import math
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .._core import Error, InvalidArgument, UnknownName, __version__
from ..base.messages import shown
from ..base.whole_file import check_replaceable, whole_file
from ..compute.registry import Reduced, Resolved
from ..mpi.communicator import Communicator
from ..opening import names_files
from ..opening import open as open_any
from ..scan.file import File, open_files
from ..scan.file_dataset import FileDataset
from ..scan.file_series import FileSeries
from ..scan.file_step import FileStep
from ..scan.grouped_dataset import GroupedDataset
from ..scan.pending_scan import PendingScan
from ..store.numbered_files import has_number, shell_pattern
from ..store.output_file import take_room
from . import selections, tables
from .application import is_first
from .looks import Look, numbers
from .printing import Format, check_rows, print_csv
from .rows import rows_of

_POLL_S = 0.05
_BYTES_BESIDE = 64 << 10  # of a variable of netCDF-4, its elements excepted: at most about this
_OF_OTHERS = (".csv", ".json", ".txt", ".zarr", ".png", ".grib", ".npy")  # a result is netCDF
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
        tables.print_rows(tables.with_errors(rows_of(result)), f"{dataset} of {path}")


def check_printable(dataset: FileDataset, over: list[str | int] | None) -> None:
    """Refuse, before anything is read, what would print millions of rows."""
    kept = dataset.view.kept
    reduced = kept if over is None else dataset.view.over(over)
    sizes = dict(zip(kept, dataset.shape, strict=True))
    check_rows(math.prod(n for d, n in sizes.items() if d not in reduced), "the result", _REMEDY)


class Source(NamedTuple):
    """What has the datasets of a command: files as one, or a step of them."""

    datasets: File | FileStep
    paths: list[str]
    title: str
    """For what is printed."""

    def dataset(self, name: str) -> FileDataset:
        """Return a dataset; where files have it in each step alone, the error says so."""
        files = self.datasets
        if isinstance(files, File) and name not in files:
            indices = _steps_with(name, files)
            if indices:
                raise UnknownName(
                    f"a dataset of steps: got {shown(name)} of {shown(self.title)} without "
                    f"--step; allowed: --step with {numbers(indices)}"
                )
        return files[name]


def _steps_with(name: str, file: File) -> Sequence[int]:
    """Return the numbers of a file's steps if the first has a dataset of this name."""
    try:
        steps = file.steps
        return steps.indices if len(steps) > 0 and name in steps[0] else ()
    except Error:
        return ()


@contextlib.contextmanager
def source_of(
    paths: list[str], step: int | None, comm: Communicator | None, isolated: bool
) -> Iterator[Source]:
    """Open files, on every rank or on none, as one or for a step of them."""
    if step is None:
        with open_together(paths, comm, isolated) as file:
            yield Source(file, file.paths, file.path)
        return
    for path in paths:
        _check_file(path)
    name = paths[0] if len(paths) == 1 else paths
    with open_any(name, "r", comm, isolated=isolated) as series:
        title = " ".join(paths)
        chosen = Look(title, cast("File | FileSeries", series)).step(step)
        files = [file for path in paths for file in glob.glob(shell_pattern(path))]
        yield Source(cast(FileStep, chosen), files, f"{title}, step {step}")


def open_together(paths: list[str], comm: Communicator | None, isolated: bool) -> File:
    """Open on every rank, or fail on every rank."""
    file, failure = None, None
    try:
        _check_one_name_each(paths)
        file = open_files(paths, comm=comm, isolated=isolated)
    except Error as error:
        failure = error
    _fail_together(failure, comm)
    if file is None:
        raise AssertionError("bug in Fluvial: no file and no failure")
    return file


def check_out(out: str, sources: list[str], comm: Communicator | None) -> None:
    """Refuse on every rank, before anything is read, a result that cannot be written."""
    failure = None
    try:
        if is_first():
            _check_target(out, sources)
    except InvalidArgument as error:
        failure = error
    _fail_together(failure, comm)


def _check_target(out: str, sources: list[str]) -> None:
    """Refuse a source, and what is in no folder that may be written to."""
    if os.path.realpath(out) in map(os.path.realpath, sources):
        raise InvalidArgument(
            f"the destination is a source: got {shown(out)}; allowed: another file. "
            "Write elsewhere, and rename the file afterwards"
        )
    suffix = os.path.splitext(out)[1].lower()
    if suffix in _OF_OTHERS:
        raise InvalidArgument(
            f"a result is written as netCDF: got {shown(out)}; allowed: a name without the suffix "
            f"of another format, such as {shown(os.path.splitext(out)[0] + '.nc')}. Say --format "
            "csv or json, and > FILE, for text"
        )
    folder = os.path.dirname(out) or "."
    if os.path.isdir(out) or not os.path.isdir(folder):
        raise _cannot_write(out, "a folder" if os.path.isdir(out) else "there is no such folder")
    check_replaceable(out)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _cannot_write(out, "the folder may not be written to")


def _check_one_name_each(paths: list[str]) -> None:
    """Refuse names of streams, and those that stand for a file of each iteration."""
    for path in paths:
        _check_file(path)
        if has_number(path) and not os.path.exists(path):
            raise InvalidArgument(
                f"numbered series are not reduced as one file: got {shown(path)}; allowed: files, "
                "a pattern in quotes, or one step by --step. Name the files, as in "
                f"{shown(shell_pattern(path))}"
            )


def _check_file(path: str) -> None:
    """Refuse the name of a stream."""
    if not os.path.exists(path) and not names_files(path):
        raise InvalidArgument(
            "this is no file, and streams are not taken together or reduced by the command: "
            f"got {shown(path)}; allowed: files. Capture it by `fluvial pipe`, or reduce its "
            "steps in Python"
        )


def _fail_together(failure: Error | None, comm: Communicator | None) -> None:
    """Raise on every rank if one has failed."""
    if comm is not None:
        for message in comm.allgather(None if failure is None else str(failure)):
            if message is not None and failure is None:
                raise InvalidArgument(message)
    if failure is not None:
        raise failure


def select(
    source: Source,
    name: str,
    isel: list[str],
    where: list[str],
    nearest: bool,
    mask: list[str],
    weights: str | None,
) -> FileDataset:
    """Return a dataset with what is chosen of it, and how it counts, by words."""
    dataset = source.dataset(name).isel(selections.to_positions(isel))
    for dim, label in selections.to_labels(where).items():
        near = nearest and not isinstance(label, slice)
        label = _of_coordinate(label, dataset.coords.get(dim))
        dataset = dataset.sel({dim: label}, method="nearest" if near else None)
    for condition in mask:
        dataset = dataset.where(condition)
    return dataset if weights is None else dataset.weighted(weights)


def _of_coordinate(label: selections.Label, coord: xr.Variable | None) -> selections.Label:
    """Return a label, or the ends of an interval, as they are meant for a coordinate."""
    if coord is None or coord.ndim != 1:
        return label
    if not isinstance(label, slice):
        return _year(label, coord)
    return _turned(slice(_year(label.start, coord), _year(label.stop, coord)), coord)


def _year(label: selections.Label, coord: xr.Variable) -> selections.Label:
    """Return a number as a year where the coordinate has times."""
    times = coord.dtype.kind == "M" or isinstance(coord.to_index(), xr.CFTimeIndex)
    year = isinstance(label, float) and label.is_integer() and 1000 <= label <= 9999
    return f"{label:.0f}" if times and year else label


def _turned(ends: slice, coord: xr.Variable) -> slice:
    """FROM:TO names an interval, whichever way the coordinate runs."""
    if coord.size < 2 or not coord.to_index().is_monotonic_decreasing:
        return ends
    low, high = ends.start, ends.stop
    if low is not None and high is not None:
        if type(low) is not type(high):
            return ends  # no interval: to select says so
        if low >= high:
            return ends
    return slice(high, low)


def names_of_results(operators: dict[str, Resolved], dataset: FileDataset) -> dict[str, Resolved]:
    """Return operators by names that no dimension or coordinate of the dataset has."""
    taken = {*dataset.dims, *dataset.coords}
    return {f"{dataset.name}_{key}" if key in taken else key: op for key, op in operators.items()}


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
    for attrs in (result.attrs, *(variable.attrs for variable in result.variables.values())):
        _number_bools(attrs)
    try:
        whole = {name: {"_FillValue": None} for name in result.coords}
        with whole_file(path) as partial:
            with open(partial, "wb") as file:  # on a full disk h5py brings the process down
                take_room(file.fileno(), path, _bytes_of(result))
            result.to_netcdf(partial, engine="h5netcdf", encoding=whole)
    except Error:
        raise
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise _cannot_write(path, str(error)) from None


def _bytes_of(result: xr.Dataset) -> int:
    """Return about how many bytes a file of this result has."""
    return result.nbytes + _BYTES_BESIDE * (len(result.variables) + 1)


def _number_bools(attrs: dict[str, object]) -> None:
    """Turn bools, which netCDF does not have, into int8."""
    for name, value in attrs.items():
        if np.asarray(value).dtype.kind == "b":
            attrs[name] = np.asarray(value).astype(np.int8)[()]


def _cannot_write(path: str, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"cannot write the result: got {path!r} ({reason}); allowed: a path in a folder that "
        "exists and may be written to"
    )


def _history(before: object) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"{now} fluvial {__version__}: {shlex.join(['fluvial', *sys.argv[1:]])}"
    return f"{line}\n{before}" if before else line
