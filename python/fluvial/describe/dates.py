# SPDX-License-Identifier: Apache-2.0
"""Dates as numbers: seconds since 1970, with the attributes that say so."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TIME = "time"
"""The name of a step's time."""

UNITS = "seconds since 1970-01-01"
SINCE = {"units": UNITS, "calendar": "proleptic_gregorian"}
"""Attributes of such seconds, for dates of NumPy."""


def to_seconds(dates: np.ndarray) -> np.ndarray:
    """Return datetime64 as seconds since 1970, in float64; NaN for what is no time.

    >>> to_seconds(np.array("1970-01-02", "datetime64[D]")).item()
    86400.0
    """
    seconds = dates.astype("datetime64[ns]").astype("int64") / 1e9
    return np.where(np.isnat(dates), np.nan, seconds)


class Date(NamedTuple):
    """The time of a step that is a date."""

    seconds: float
    """Since 1970, in its calendar."""
    attrs: dict[str, str]
    """What says so: units and calendar."""


def to_date(time: object) -> Date | None:
    """Return a numpy.datetime64 or a date of cftime as seconds; None where it is neither.

    >>> to_date(np.datetime64("1970-01-01T00:01:00")).seconds
    60.0
    >>> to_date(60.0)
    """
    if isinstance(time, np.datetime64):
        return Date(float(to_seconds(np.asarray(time))), SINCE)
    calendar, replace = getattr(time, "calendar", None), getattr(time, "replace", None)
    if not isinstance(calendar, str) or replace is None:
        return None
    begin = replace(year=1970, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    return Date((time - begin).total_seconds(), {"units": UNITS, "calendar": calendar})
