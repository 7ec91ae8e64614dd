# SPDX-License-Identifier: Apache-2.0
"""The little languages of the command line: operators, selections, names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import ops
from ._core import InvalidArgument
from .messages import shown

_WITH_ARGUMENTS = {
    "quantile": "quantile(0.5), quantile(0.5,exact)",
    "histogram": "histogram(LOWEST:HIGHEST:BINS)",
    "top_k": "top_k(10)",
    "norm": "norm(2)",
    "std": "std(1), of a sample",
    "variance": "variance(1)",
}
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


def to_operators(text: str, skipna: bool) -> dict[str, Any]:
    """Return operators by the names of their results.

    >>> list(to_operators("mean,quantile(0.9)", True))
    ['mean', 'quantile_0.9']
    """
    found = {}
    for word in re.split(r",(?![^(]*\))", text):
        match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", word)
        if match is None or (match[2] is None and match[1] not in ops.names()):
            plain = [name for name in ops.names() if name not in _WITH_ARGUMENTS]
            raise InvalidArgument(
                f"no such operator: got {shown(word.strip())}; "
                f"allowed: {', '.join([*plain, *_WITH_ARGUMENTS.values()])}"
            )
        name, argument = match[1], match[2]
        label = name if argument is None else f"{name}_{_plain(argument)}"
        found[label] = (
            ops.resolve(name, skipna=skipna)
            if argument is None
            else _with_argument(name, argument, skipna)
        )
    return found


def _plain(argument: str) -> str:
    """Return an operator's argument as it stands in the name of a result.

    >>> _plain("0.9,exact"), _plain("0:10:20")
    ('0.9', '0_10_20')
    """
    return argument.partition(",")[0].strip().replace(":", "_")


def _with_argument(name: str, argument: str, skipna: bool) -> Any:
    try:
        if name == "histogram":
            low, high, bins = argument.split(":")
            edges = np.linspace(float(low), float(high), int(bins) + 1)
            return ops.Histogram(edges, skipna=skipna)
        if name == "quantile":
            q, _, how = map(str.strip, argument.partition(","))
            if how == "exact":
                return ops.Quantile(float(q), exact=True, skipna=skipna)
            if how:
                return ops.Quantile(float(q), accuracy=float(how), skipna=skipna)
            return ops.Quantile(float(q), skipna=skipna)
        if name == "top_k":
            return ops.TopK(int(argument), skipna=skipna)
        if name == "norm":
            return ops.Norm(float(argument), skipna=skipna)
        if name in ("std", "variance"):
            kind = ops.Std if name == "std" else ops.Variance
            return kind(ddof=float(argument), skipna=skipna)
    except ValueError as error:
        if isinstance(error, InvalidArgument):
            raise
    raise InvalidArgument(
        f"cannot read the operator: got '{name}({argument})'; "
        f"allowed: {', '.join(_WITH_ARGUMENTS.values())}"
    )


def to_labels(words: Sequence[str]) -> dict[str, Any]:
    """Return selections by coordinate: DIM=LABEL or DIM=FROM:TO, both ends included.

    >>> to_labels(["lat=-30:30", "time=2000-01", "level=500"])
    {'lat': slice(-30.0, 30.0, None), 'time': '2000-01', 'level': 500.0}
    """
    found: dict[str, Any] = {}
    for word in words:
        dim, _, label = word.partition("=")
        if not dim or not label:
            raise InvalidArgument(
                f"cannot read the selection: got {shown(word)}; allowed: DIM=LABEL or DIM=FROM:TO, "
                "as in lat=-30:30 or time=2000-01"
            )
        times = re.fullmatch(rf"({_TIME})?:({_TIME})?", label)
        ends = times.groups() if times else label.split(":") if label.count(":") == 1 else None
        found[dim.strip()] = (
            slice(*(None if not end else _label(end) for end in ends))
            if ends is not None and not re.fullmatch(_TIME, label)
            else _label(label)
        )
    return found


def to_positions(words: Sequence[str]) -> dict[str, Any]:
    """Return selections by position: DIM=INDEX or DIM=FROM:TO:STEP, as NumPy counts.

    >>> to_positions(["level=0", "x=::2"])
    {'level': 0, 'x': slice(None, None, 2)}
    """
    found: dict[str, Any] = {}
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
        found[dim.strip()] = parts[0] if len(parts) == 1 else slice(*parts)
    return found


def _label(text: str) -> float | str:
    """Return a number, or text; times stay text."""
    if re.fullmatch(r"\d{4}-\d\d.*", text):
        return text
    try:
        return float(text)
    except ValueError:
        return text
