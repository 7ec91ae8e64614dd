# SPDX-License-Identifier: Apache-2.0
"""Plots made of characters: a sparkline in one row, bars on a logarithmic scale in several."""

from __future__ import annotations

import math
from collections.abc import Sequence

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
EIGHTHS = " ▁▂▃▄▅▆▇█"

Values = Sequence[float | None]


def resample(values: Values, width: int) -> list[float | None]:
    """Return `width` values, each the largest of its share of `values`, so that no peak is lost.

    What is missing (None or NaN) counts only where a share has nothing else. Shorter input is
    stretched.
    """
    count = len(values)
    if count == 0:
        return [None] * width
    result: list[float | None] = []
    for column in range(width):
        first = column * count // width
        last = max(first + 1, (column + 1) * count // width)
        share = [v for v in values[first:last] if v is not None and not math.isnan(v)]
        result.append(max(share) if share else None)
    return result


def sparkline(
    values: Values, width: int, low: float | None = None, high: float | None = None
) -> str:
    """Return a row of `width` characters, scaled from `low` to `high` (default: its ends)."""
    columns = resample(values, width)
    known = [v for v in columns if v is not None]
    if not known:
        return " " * width
    bottom = min(known) if low is None else low
    top = max(known) if high is None else high
    reach = (top - bottom) or 1.0
    return "".join(
        " " if v is None else EIGHTHS[1 + round(7 * min(1.0, max(0.0, (v - bottom) / reach)))]
        for v in columns
    )


def log_bars(values: Values, width: int, height: int, low: float, high: float) -> list[str]:
    """Return `height` rows of `width` characters with a bar a column, on a logarithmic scale.

    Parameters
    ----------
    values
        Positive numbers; others have no bar.
    low, high
        Value at the foot of the plot and at its top; bars beyond are cut.
    """
    span = math.log(high / low)
    levels = [
        0
        if v is None or v <= low
        else max(1, round(8 * height * min(1.0, math.log(v / low) / span)))
        for v in resample(values, width)
    ]
    return [
        "".join(EIGHTHS[min(8, max(0, level - 8 * row))] for level in levels)
        for row in reversed(range(height))
    ]


def decade_labels(height: int, low: float, high: float) -> list[str]:
    """Return a label for each row of `log_bars`: a power of ten where its bar ends, or nothing."""
    labels = [""] * height
    span = math.log10(high / low)
    for exponent in range(math.floor(math.log10(low)) + 1, math.floor(math.log10(high)) + 1):
        row = math.ceil((exponent - math.log10(low)) / span * height - 1e-9) - 1
        labels[height - 1 - row] = "10" + str(exponent).translate(_RAISED)
    return labels


def place_labels(labels: Sequence[tuple[float, str]], width: int) -> str:
    """Return one row with each label centred at its place, 0 … 1; no two overlap."""
    row = [" "] * width
    free = 0
    for place, text in labels:
        first = min(max(0, round(place * width - len(text) / 2)), width - len(text))
        if first >= free:
            row[first : first + len(text)] = text
            free = first + len(text) + 1
    return "".join(row)
