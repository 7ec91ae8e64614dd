# SPDX-License-Identifier: Apache-2.0
"""The words `info` and `reduce`: what is in files, and what becomes of it in one pass."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, cast

import typer

from .._core import InvalidArgument
from ..mpi.communicator import world
from . import selections, tables
from .application import is_first
from .printing import Format, print_csv

if TYPE_CHECKING:
    from ..scan.options import ScanOptions

Isolated = Annotated[
    bool, typer.Option("--isolated", help="Another process opens the files first: of strangers.")
]


def add_file_words(app: typer.Typer) -> None:
    """Give the command its words about files."""
    app.command("info")(_info)
    app.command("reduce")(_reduce)


def _info(
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
        from .looks import looking_at
        from .series_tables import describe_series

        with looking_at(files[0], wait, directory, isolated) as look:
            described = describe_series(look)
    else:
        from .file_scan import open_together
        from .rows import describe_file

        with open_together(files, world(), isolated) as file:
            described = describe_file(file)
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
    from ..opening import names_files
    from ..store.numbered_files import has_number

    return not os.path.exists(name) and (has_number(name) or not names_files(name))


def _in_cells(dataset: tables.DescribedDataset) -> tables.Row:
    """Return a described dataset as cells of text."""
    attrs = dataset.get("attributes", {})
    said = cast("tables.Row", {k: value for k, value in dataset.items() if k != "attributes"})
    row: tables.Row = {
        key: " ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in said.items()
    }
    return {**row, "units": attrs.get("units", attrs.get("unitSI"))}


def _reduce(
    arguments: Annotated[
        list[str], typer.Argument(metavar="FILE… DATASET", help="Files as one, and a dataset.")
    ],
    step: Annotated[
        int | None, typer.Option(help="Number of a step, of which the dataset is one.")
    ] = None,
    op: Annotated[
        list[str],
        typer.Option(help="Operators with commas: mean,max,quantile(0.9). Repeatable."),
    ] = ["mean"],  # noqa: B006
    over: Annotated[
        str | None, typer.Option(help="Dimensions to reduce, with commas. \\[default: all]")
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
        str | None, typer.Option(help="Bytes of a rank beside results. \\[default: 64MiB]")
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
    from . import file_scan
    from .operators import to_operators

    comm = world()
    with file_scan.source_of(arguments[:-1], step, comm, isolated) as source:
        if out is not None:
            file_scan.check_out(out, source.paths, comm)
        dataset = file_scan.select(source, arguments[-1], isel, where, nearest, mask, weights)
        grouped = file_scan.group(dataset, groupby, resample)
        operators = to_operators(",".join(op), None if skipna else False)
        operators = file_scan.names_of_results(operators, dataset)
        if out is None and groupby is None and resample is None:
            file_scan.check_printable(dataset, selections.to_names(over))
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
        result = file_scan.watched(pending, progress)
        if is_first():
            file_scan.present(result, dataset.name, source.title, out, format)
