# SPDX-License-Identifier: Apache-2.0
"""Rows as a table, as one line of JSON, or as CSV; never millions of them unasked."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from .._core import InvalidArgument
from . import tables
from .application import is_first

ROWS_MAX = 1_000_000


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def print_as(
    rows: Iterable[tables.Row],
    title: str,
    format: Format,
    also: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Print rows, and of JSON what else is to be in its one object; on the first rank."""
    found = list(rows)
    if not is_first():
        return
    if format is Format.json:
        tables.print_json({"name": title, "rows": found, **(also or {})})
    elif format is Format.csv:
        print_csv(found)
    else:
        tables.print_rows(found, title)


def print_csv(rows: list[tables.Row], headed: Sequence[str] = ()) -> list[str]:
    """Print rows as RFC 4180 has it, but with plain ends of lines; nothing for None.

    Below rows whose columns were `headed` the same ones have no names again. Returns the columns.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if columns != list(headed):
        writer.writerow(columns)
    writer.writerows([row.get(column) for column in columns] for row in rows)
    return columns


def check_rows(count: int, what: str, remedy: str, limit: int = ROWS_MAX) -> None:
    """Raise where so many rows would be printed that a reader is lost in them."""
    if count > limit:
        raise InvalidArgument(
            f"{what} has too many rows to be printed: got {count:,}; allowed: {limit:,}. {remedy}"
        )
