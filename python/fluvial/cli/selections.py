# SPDX-License-Identifier: Apache-2.0
"""Selections and names as the command line takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .._core import InvalidArgument
from ..base.messages import shown

Label = float | str | slice

_TIME = r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d)?)?)?)?)?"


def to_names(text: str | None) -> list[str | int] | None:
    """Return the names and numbers of a list with commas.

    >>> to_names("lat,1")
    ['lat', 1]
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [int(word) if re.fullmatch(r"-?\d+", word) else word for word in words]


def to_labels(words: Sequence[str]) -> dict[str, Label]:
    """Return selections by coordinate: DIM=LABEL or DIM=FROM:TO, both ends included.

    >>> to_labels(["lat=-30:30", "time=2000-01", "level=500"])
    {'lat': slice(-30.0, 30.0, None), 'time': '2000-01', 'level': 500.0}
    """
    found: dict[str, Label] = {}
    for word in words:
        dim, _, label = word.partition("=")
        if not dim or not label:
            raise InvalidArgument(
                f"cannot read the selection: got {shown(word)}; allowed: DIM=LABEL or DIM=FROM:TO, "
                "as in lat=-30:30 or time=2000-01"
            )
        _check_new(dim.strip(), found, "--where")
        times = re.fullmatch(rf"({_TIME})?:({_TIME})?", label)
        ends = times.groups() if times else label.split(":") if label.count(":") == 1 else None
        found[dim.strip()] = (
            slice(*(None if not end else _label(end) for end in ends))
            if ends is not None and not re.fullmatch(_TIME, label)
            else _label(label)
        )
    return found


def to_positions(words: Sequence[str]) -> dict[str, int | slice | None]:
    """Return selections by position: DIM=INDEX or DIM=FROM:TO:STEP, as NumPy counts.

    >>> to_positions(["level=0", "x=::2"])
    {'level': 0, 'x': slice(None, None, 2)}
    """
    found: dict[str, int | slice | None] = {}
    for word in words:
        dim, _, numbers = word.partition("=")
        try:
            parts = [int(part) if part.strip() else None for part in numbers.split(":")]
            if not dim or len(parts) > 3 or (len(parts) == 1 and parts[0] is None):
                raise ValueError
        except ValueError:
            raise InvalidArgument(
                f"cannot read the selection: got {shown(word)}; allowed: DIM=INDEX or "
                "DIM=FROM:TO:STEP, as in level=0 or x=::2"
            ) from None
        _check_new(dim.strip(), found, "--isel")
        found[dim.strip()] = parts[0] if len(parts) == 1 else slice(*parts)
    return found


def _check_new(dim: str, found: Iterable[str], option: str) -> None:
    if dim in found:
        raise InvalidArgument(
            f"{option} of a dimension twice: got {shown(dim)} again; allowed: once each"
        )


def _label(text: str) -> float | str:
    """Return a number, or text; times stay text."""
    if re.fullmatch(r"\d{4}-\d\d.*", text):
        return text
    try:
        return float(text)
    except ValueError:
        return text
