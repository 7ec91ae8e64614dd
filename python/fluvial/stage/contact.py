# SPDX-License-Identifier: Apache-2.0
"""How readers that see no contact file find a stream."""

from __future__ import annotations

from ..base.arguments import wrong_type
from .writer import WriteSeries


def contact(series: WriteSeries) -> str:
    """Return the text by which a reader finds the stream where it sees no contact file. Local.

    It is `series.contact`, and goes to the reader as ``fl.open(name, contact=text)``. It holds the
    key of the stream: pass it on as you would a password. WrongType: of what no reader can connect
    to, such as files or a series that is read.

    >>> fl.open("melt", contact=fl.contact(series))                       # doctest: +SKIP
    """
    if not isinstance(series, WriteSeries):
        raise wrong_type(
            "the series whose contact is asked for", series, "a stream that is written"
        )
    return series.contact
