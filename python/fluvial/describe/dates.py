# SPDX-License-Identifier: Apache-2.0
"""Dates as numbers: seconds since 1970, with the attributes that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

TIME = "time"
"""The name of a step's time."""

UNITS = "seconds since 1970-01-01"
SINCE = {"units": UNITS, "calendar": "proleptic_gregorian"}
"""Attributes of such seconds, for dates of NumPy."""


_UNIT, _CALENDAR = "timeUnits", "timeCalendar"
OF_TIME = frozenset({_UNIT, _CALENDAR, "timeUnitSI"})
"""Attributes of a step that say how its time counts: as a coordinate says it, and openPMD."""

_SECONDS = {
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millisec", "millisecs"), 1e-3),
    **dict.fromkeys(("millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "microsec", "microsecs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("ps", "picosecond", "picoseconds"), 1e-12),
    **dict.fromkeys(("fs", "femtosecond", "femtoseconds"), 1e-15),
    **dict.fromkeys(("as", "attosecond", "attoseconds"), 1e-18),
}


def step_attributes(of_coordinate: Mapping[str, object]) -> dict[str, object]:
    """Return what a step says of its time where a coordinate has these attributes.

    >>> step_attributes({"units": "fs", "long_name": "delay"})
    {'timeUnits': 'fs', 'timeUnitSI': 1e-15}
    >>> step_attributes({"units": "msecs since 2000-01-01"})["timeUnitSI"]
    0.001
    """
    units, calendar = of_coordinate.get("units"), of_coordinate.get("calendar")
    if not isinstance(units, str) or not units:
        return {}
    said: dict[str, object] = {_UNIT: units}
    if isinstance(calendar, str):
        said[_CALENDAR] = calendar
    word = units.partition(" since ")[0].strip()
    seconds = _SECONDS.get(word if len(word) < 3 else word.lower())
    return said if seconds is None else {**said, "timeUnitSI": seconds}


def coordinate_attributes(of_step: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes of a coordinate of time: what `step_attributes` was given.

    >>> coordinate_attributes({"time": 6.0, "timeUnits": "fs", "timeUnitSI": 1e-15})
    {'units': 'fs'}
    """
    names = {"units": _UNIT, "calendar": _CALENDAR}
    if _UNIT not in of_step:
        return {}
    return {name: of_step[said] for name, said in names.items() if said in of_step}


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
