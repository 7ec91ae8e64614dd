# SPDX-License-Identifier: Apache-2.0
"""Coordinates of several files: joined to one, or the same in each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from .. import _core
from .._core import InvalidArgument

Decode = Callable[[_core.FileDataset, bool], xr.Variable]
"""Gives the labels of a dataset; with True, dates as objects of cftime, which have no last year."""

_SAME_CALENDAR = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}


def join(parts: Sequence[_core.FileDataset], decode: Decode, *, check: bool = True) -> xr.Variable:
    """Return the labels of all files, one file after the other.

    Without `check` they are numbers as they are stored, whatever each file counts.

    Raises
    ------
    InvalidArgument
        Files count by other units or in another calendar. Dates may count from another day.
    """
    labels = _of_one_kind(parts, decode)
    for part, its in zip(parts[1:], labels[1:], strict=True):
        if check and _counted(its) != _counted(labels[0]):
            first = parts[0]
            raise InvalidArgument(
                f"'{first.name}' counts otherwise in each file: got {_said(part)} in "
                f"{part.path!r}; allowed: units and a calendar that fit those of "
                f"{first.path!r}, {_said(first)}. Reduce the files one by one."
            )
    values = np.concatenate([some.values for some in labels])
    return xr.Variable(labels[0].dims, values, labels[0].attrs, labels[0].encoding)


def check_same(parts: Sequence[_core.FileDataset], decode: Decode) -> xr.Variable:
    """Return the labels of the first file, which all have. Missing ones equal each other.

    Raises
    ------
    InvalidArgument
        A file has others.
    """
    labels = _of_one_kind(parts, decode)
    for part, its in zip(parts[1:], labels[1:], strict=True):
        if not _equal(its.values, labels[0].values):
            raise InvalidArgument(
                f"the files differ in coordinate '{part.name}': got other values in "
                f"{part.path!r}; allowed: those of {parts[0].path!r}. "
                "Open files of one grid together."
            )
    return labels[0]


def _of_one_kind(parts: Sequence[_core.FileDataset], decode: Decode) -> list[xr.Variable]:
    """Decode all alike: where datetime64 cannot hold the dates of one file, none has it."""
    labels = [decode(part, False) for part in parts]
    if {"M", "O"} <= {some.dtype.kind for some in labels}:
        labels = [
            decode(part, True) if some.dtype.kind == "M" else some
            for part, some in zip(parts, labels, strict=True)
        ]
    return labels


def _counted(labels: xr.Variable) -> tuple[str, object]:
    """Return what makes labels comparable: the calendar of dates, the units of other numbers."""
    kind = labels.dtype.kind
    if kind in "Mm":
        return kind, None
    if kind == "O" and "units" in labels.encoding:  # of which nothing is left in their attributes
        calendar = str(labels.encoding.get("calendar", "standard")).lower()
        return kind, _SAME_CALENDAR.get(calendar, calendar)
    return "units", labels.attrs.get("units", "")


def _said(part: _core.FileDataset) -> str:
    attributes = part.attributes
    units, calendar = attributes.get("units", ""), attributes.get("calendar")
    return f"units {units!r}" + ("" if calendar is None else f" and calendar {calendar!r}")


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    missing = (one != one) & (other != other)  # as NaN and NaT are
    return bool(np.all((one == other) | missing))
