# SPDX-License-Identifier: Apache-2.0
"""How the command line prints rows, and what is in a file: as tables and as JSON."""

from __future__ import annotations

import decimal
import json
import math
import re
import sys
from typing import TYPE_CHECKING, TypedDict

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..scan.described_dataset import Layout
    from .stream_status import StreamStatus

Plain = None | bool | int | float | str | list["Plain"]
"""What JSON knows."""
Row = dict[str, Plain]


class DescribedDataset(TypedDict, total=False):
    """What a dataset is, by key, as JSON takes it."""

    name: str
    error: str
    """Why it cannot be opened; then there is nothing else."""
    dtype: str
    dims: list[str]
    shape: list[int]
    layout: str
    attributes: dict[str, Plain]


class Described(TypedDict, total=False):
    """What files or a stream are, likewise."""

    files: list[str]
    format: str
    bytes: int | None
    status: StreamStatus
    """Of a stream."""
    steps: int
    """Of numbered files, as `numbers`."""
    numbers: str
    step: int | None
    """The one that is described."""
    time: Plain
    dimensions: dict[str, int]
    attributes: dict[str, Plain]
    datasets: list[DescribedDataset]
    left_out: dict[str, str]


_ROWS_SHOWN = 40


def print_json(document: object) -> None:
    """Print one line of JSON."""
    text = _strict(document)
    print(json.dumps(text, ensure_ascii=not is_unicode(sys.stdout.encoding), allow_nan=False))


def is_unicode(encoding: str | None) -> bool:
    """Tell whether an encoding has all characters."""
    return (encoding or "").lower().replace("-", "").startswith("utf")


def _strict(document: object) -> object:
    """Return a document whose numbers JSON has: None for NaN, text for what is infinite."""
    if isinstance(document, float) and not math.isfinite(document):
        return None if math.isnan(document) else str(document)
    if isinstance(document, dict):
        return {key: _strict(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_strict(value) for value in document]
    return document


def print_rows(rows: list[Row], title: str) -> None:
    """Print rows as a table: pretty on a terminal, where the middle of a long one is left out."""
    columns = list(rows[0]) if rows else []
    console = Console()
    if not console.is_terminal:
        cells = [columns, *[[_shown(row[c]) for c in columns] for row in rows]]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        for line in cells:
            print("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)))
        return
    table = Table(title=Text(title))
    for column in columns:
        table.add_column(Text(column), justify="right")
    half = _ROWS_SHOWN // 2
    for number, row in enumerate(rows):
        if len(rows) <= _ROWS_SHOWN or not half <= number < len(rows) - half:
            table.add_row(*(Text(_shown(row[c])) for c in columns))
        elif number == half:
            table.add_row(*["…"] * len(columns))
    console.print(table)


def with_errors(rows: list[Row]) -> list[Row]:
    """Put quantiles and their errors into one column, with the digits that are known.

    >>> with_errors([{"quantile_0.5": 287.4619, "quantile_0.5_error": 0.117, "lat": 3.0}])
    [{'quantile_0.5': '287.5 ± 0.2', 'lat': 3.0}]
    """
    out = []
    for row in rows:
        errors = [c for c in row if c.endswith("_error") and c.removesuffix("_error") in row]
        errors = [c for c in errors if re.search("quantile|median", c)]
        joined = {
            c.removesuffix("_error"): estimate(row[c.removesuffix("_error")], row[c])
            for c in errors
        }
        out.append({c: joined.get(c, value) for c, value in row.items() if c not in errors})
    return out


def estimate(value: Plain, error: Plain) -> Plain:
    """Return a number with those digits that its error leaves, and a bound of their error.

    >>> estimate(1234567.0, 30000.0), estimate(2.5, 0.0), estimate(-0.0123456, 2e-05)
    ('1230000 ± 40000', 2.5, '-0.01235 ± 0.00003')
    """
    if not isinstance(value, float) or not isinstance(error, float):
        return value
    if not math.isfinite(value + error) or error <= 0:
        return value
    digit = decimal.Decimal(1).scaleb(decimal.Decimal(error).adjusted())
    with decimal.localcontext() as exactly:
        exactly.prec = 800
        exact, bound = decimal.Decimal(value), decimal.Decimal(error)
        shown = exact.quantize(digit) if digit < 1 else (exact / digit).to_integral_value() * digit
        bound += abs(shown - exact)
        rounded = (bound / digit).to_integral_value(decimal.ROUND_CEILING) * digit
    return f"{_digits(shown)} ± {_digits(rounded)}"


def _digits(number: decimal.Decimal) -> str:
    plain = 1e-5 <= abs(number) < 1e15 or number == 0
    return f"{number:f}" if plain else f"{number.normalize():e}"


def _shown(value: Plain) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return "–" if value is None else str(value)


def layout_in_words(layout: Layout) -> str:
    """Return a layout in a few words.

    >>> layout_in_words({"kind": "chunked", "chunk": (1, 8), "filters": ("shuffle", "deflate"),
    ...                  "swapped": False})
    'chunks 1×8, shuffle, deflate'
    """
    swapped = ["other byte order"] if layout.get("swapped") and sys.byteorder != "little" else []
    swapped = ["big-endian"] if layout.get("swapped") and sys.byteorder == "little" else swapped
    if layout["kind"] == "chunked":
        extents = "×".join(map(str, layout["chunk"]))
        return ", ".join([f"chunks {extents}", *layout["filters"], *swapped])
    if layout["kind"] == "affine":
        return ", ".join([f"from byte {layout['offset']}", *swapped])
    return f"read by its library: {layout['why']}"


def print_file(described: Described, with_attributes: bool) -> None:
    """Print what is in a file as tables."""
    console = Console() if sys.stdout.isatty() else Console(width=160)
    files = described["files"]
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    size = "" if described["bytes"] is None else f"{described['bytes']:,} bytes".replace(",", " ")
    console.print(Text(", ".join(filter(None, (f"{files[0]}{more}: {described['format']}", size)))))
    for line in _of_series(described):
        console.print(Text(line), soft_wrap=True)
    dims = ", ".join(f"{name} {length}" for name, length in described["dimensions"].items())
    if dims:
        console.print(Text(f"dimensions: {dims}"))
    table = Table()
    for column in ("dataset", "dtype", "dimensions", "layout", "units", "long name"):
        table.add_column(column)
    broken = [d for d in described["datasets"] if "error" in d]
    for dataset in (d for d in described["datasets"] if "error" not in d):
        shape = ", ".join(
            f"{d} {n}" for d, n in zip(dataset["dims"], dataset["shape"], strict=True)
        )
        attrs = dataset["attributes"]
        words = (dataset["name"], dataset["dtype"], shape, dataset["layout"])
        named = (str(attrs.get("units", attrs.get("unitSI", ""))), str(attrs.get("long_name", "")))
        table.add_row(*(Text(word) for word in (*words, *named)))
    console.print(table)
    for dataset in broken:
        console.print(Text(f"{dataset['name']}: {dataset['error']}"), soft_wrap=True)
    for line in left_out_lines(described.get("left_out", {})):
        console.print(Text(line), soft_wrap=True)
    if with_attributes:
        for owner, attrs in [
            ("", described["attributes"]),
            *((d["name"], d["attributes"]) for d in described["datasets"] if d not in broken),
        ]:
            for key, value in attrs.items():
                console.print(Text(f"{owner}:{key} = {value!r}"), soft_wrap=True)


def left_out_lines(left_out: Mapping[str, str]) -> list[str]:
    """Return a line for each thing in a file that is no dataset, with the reason.

    >>> left_out_lines({"names": "text"})
    ['names is left out: text']
    """
    return [f"{name} is left out: {why}" for name, why in left_out.items()]


def _of_series(described: Described) -> list[str]:
    """Return lines on the steps of a series, and on the queue of a stream."""
    lines = []
    if "numbers" in described:
        lines.append(f"steps: {described['steps']} ({described['numbers']})")
    if status := described.get("status"):
        readers = sum(not reader["observes"] for reader in status["readers"])
        lines.append(
            f"writer: {status['writer_ranks']} ranks on {status['host']}, {status['steps_written']}"
            f" steps, queue {status['queue_depth']} of {status['queue_steps']} ({status['full']}), "
            f"{readers} readers"
        )
    if described.get("step", 0) is None:
        lines.append("no step is there yet")
    elif "step" in described:
        time = "" if described["time"] is None else f", time {described['time']}"
        lines.append(f"in step {described['step']}{time}:")
    return lines
