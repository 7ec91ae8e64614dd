# SPDX-License-Identifier: Apache-2.0
"""The line that opens a scenario: "writer on 2 ranks and monitor on 3 processes"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(
    r"(?P<name>[a-z][a-z ]*?) on (?P<count>\d+) (?P<kind>ranks?|process(?:es)?)"
    r"(?: of hosts? (?P<first>\d+)(?:-(?P<last>\d+))?)?"
)


@dataclass(frozen=True)
class Cast:
    """One job of a scenario.

    Attributes
    ----------
    name
        What the line calls it, with underscores: ``late_reader``.
    count
        Number of ranks or processes.
    singly
        True for "processes": separate ones, each with ``comm=None``, of which one can be killed
        while the others go on. False for "ranks": one MPI job under mpiexec.
    hosts
        Of the cluster in a box: over which its ranks are spread equally. Empty: this machine.
    """

    name: str
    count: int
    singly: bool
    hosts: tuple[int, ...] = ()


def parse(sentence: str) -> list[Cast]:
    """Read ``NAME on N ranks|processes [of host K | of hosts K-L]``, joined by commas or "and".

    Raises
    ------
    ValueError
        When a part does not read so, a count is 0, or a name comes twice.
    """
    casts: list[Cast] = []
    for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", sentence.strip()):
        match = _PART.fullmatch(part)
        if match is None or int(match["count"]) < 1:
            raise ValueError(
                f"scenario {sentence!r}: cannot read {part!r}; "
                'write "NAME on N ranks" or "NAME on N processes" with N at least 1, and after it '
                'perhaps "of host K" or "of hosts K-L"'
            )
        first = int(match["first"] or 0)
        hosts = tuple(range(first, int(match["last"] or first) + 1)) if first else ()
        singly = match["kind"].startswith("proc")
        cast = Cast(match["name"].replace(" ", "_"), int(match["count"]), singly, hosts)
        if cast.name in {other.name for other in casts}:
            raise ValueError(
                f"scenario {sentence!r}: {cast.name!r} comes twice; "
                'tell them apart, as in "first reader", "second reader"'
            )
        casts.append(cast)
    return casts
