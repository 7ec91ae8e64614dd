# SPDX-License-Identifier: Apache-2.0
"""How values are printed, and formats as printf takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .kinds import BOOLEAN, FLOAT, INT, STRING, Kind

_CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:l|ll)?([a-zA-Z])|(.|$))", re.DOTALL)
_TAKEN = {
    **dict.fromkeys("diuxXoc", (INT, BOOLEAN)),
    **dict.fromkeys("feEgG", (FLOAT, INT)),
    "s": (STRING, INT, FLOAT, BOOLEAN),
    "b": (BOOLEAN,),
}


def conversions(text: str) -> list[tuple[str, tuple[Kind, ...]]]:
    """Return the conversions of a format, and which types each takes.

    Raises
    ------
    ValueError
        When it has another one.

    >>> [conversion for conversion, _ in conversions("%i of %0.3f %%")]
    ['%i', '%0.3f']
    """
    found = []
    for match in _CONVERSION.finditer(text):
        if match[0] == "%%":
            continue
        if match[1] is None or match[1] not in _TAKEN:
            raise ValueError(
                f"a conversion of a format: got {match[0]!r}; allowed: "
                + ", ".join(f"%{letter}" for letter in sorted(_TAKEN))
                + ", and %% for %"
            )
        found.append((match[0], _TAKEN[match[1]]))
    return found


def formatted(text: str, values: Sequence[object]) -> str:
    """Return the text with the values in the places of its conversions."""
    wanted = conversions(text)
    if len(wanted) != len(values):
        raise ValueError(
            f"a format for {len(wanted)} values: got {len(values)}; allowed: one for each "
            f"conversion of {text!r}"
        )
    rest = iter(values)

    def put(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        conversion, value = match[0], next(rest)
        if conversion[-1] in "sb":
            return f"{conversion[:-1]}s" % shown_value(value)
        whole = INT in _TAKEN[conversion[-1]] and FLOAT not in _TAKEN[conversion[-1]]
        if not isinstance(value, int if whole else int | float):
            numbers = "a whole number" if whole else "a number"
            raise ValueError(f"{conversion} of a format: got {value!r}; allowed: {numbers}")
        return conversion.replace("l", "") % value

    return _CONVERSION.sub(put, text)


def shown_value(value: object) -> str:
    """Return a value as `trace` and `%s` print it.

    >>> shown_value(True), shown_value(2.5), shown_value({0: "a", 1: "b"})
    ('true', '2.5', '[a,b]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        in_order = list(value) == list(range(len(value)))
        elements = (
            shown_value(element) if in_order else f"{key}: {shown_value(element)}"
            for key, element in value.items()
        )
        return ("[" if in_order else "{") + ",".join(elements) + ("]" if in_order else "}")
    if isinstance(value, bytes):
        return f"blob of {len(value)} bytes"
    return str(value)
