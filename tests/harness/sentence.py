# SPDX-License-Identifier: Apache-2.0
"""The line that opens a scenario: "writer on 2 ranks and monitor on 3 processes"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(
    r"(?P<name>[a-z][a-z ]*?) on (?:(?P<hosts>\d+) hosts? [x×] )?(?P<count>\d+)"
    r" (?P<kind>ranks?|process(?:es)?)(?: of hosts? (?P<first>\d+)(?:-(?P<last>\d+))?)?"
)
_LINK = re.compile(
    r"link (?P<rate>\d+(?:\.\d+)?) (?P<unit>[kMG])bit/s"
    r"(?: with (?P<delay>\d+(?:\.\d+)?) ms of delay)?"
)
_BYTES_PER_S = {"k": 1e3 / 8, "M": 1e6 / 8, "G": 1e9 / 8}
_SLOWEST, _FASTEST = 100 * _BYTES_PER_S["k"], 100 * _BYTES_PER_S["G"]
_DELAY_MAX_S = 10.0


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


@dataclass(frozen=True)
class Link:
    """What the cable of each host of the box carries, in either direction.

    Attributes
    ----------
    bandwidth
        Bytes per second.
    delay_s
        That a packet takes from one host to another, beside that.
    """

    bandwidth: float
    delay_s: float = 0.0


def parse(sentence: str) -> list[Cast]:
    """Read ``NAME on N ranks|processes [of host K | of hosts K-L]``, joined by commas or "and".

    ``NAME on H hosts x N ranks`` takes the next H hosts, with N ranks on each. What follows
    ``link`` is for `link_of`.

    Raises
    ------
    ValueError
        When a part does not read so, a count is 0, or a name comes twice.
    """
    casts: list[Cast] = []
    for part in _parts(sentence):
        if part.startswith("link "):
            continue
        match = _PART.fullmatch(part)
        counts = [match["count"], match["hosts"] or 1] if match else [0]
        both = match is not None and match["hosts"] and match["first"]
        if match is None or both or any(int(count) < 1 for count in counts):
            raise ValueError(
                f"scenario {sentence!r}: cannot read {part!r}; "
                'write "NAME on N ranks" or "NAME on N processes" with N at least 1, and after it '
                'perhaps "of host K" or "of hosts K-L"; or "NAME on H hosts x N ranks"'
            )
        count = int(match["count"])
        if match["hosts"]:
            first = max((host for cast in casts for host in cast.hosts), default=0) + 1
            hosts = tuple(range(first, first + int(match["hosts"])))
            count *= len(hosts)
        else:
            first = int(match["first"] or 0)
            hosts = tuple(range(first, int(match["last"] or first) + 1)) if first else ()
        singly = match["kind"].startswith("proc")
        cast = Cast(match["name"].replace(" ", "_"), count, singly, hosts)
        if cast.name in {other.name for other in casts}:
            raise ValueError(
                f"scenario {sentence!r}: {cast.name!r} comes twice; "
                'tell them apart, as in "first reader", "second reader"'
            )
        casts.append(cast)
    return casts


def link_of(sentence: str) -> Link | None:
    """Read ``link R Mbit/s [with D ms of delay]``; None where the line says nothing of links.

    Raises
    ------
    ValueError
        When it does not read so, comes twice, is of no host, or no cable could be so.
    """
    said = [part for part in _parts(sentence) if part.startswith("link ")]
    if not said:
        return None
    match = _LINK.fullmatch(said[0])
    found = Link(0.0)
    if match:
        delay_s = float(match["delay"] or 0) / 1e3
        found = Link(float(match["rate"]) * _BYTES_PER_S[match["unit"]], delay_s)
    good = _SLOWEST <= found.bandwidth <= _FASTEST and found.delay_s <= _DELAY_MAX_S
    if len(said) > 1 or not good:
        raise ValueError(
            f"scenario {sentence!r}: cannot read {said[-1]!r}; write once, of all links, "
            '"link R Mbit/s" (or kbit/s, Gbit/s; 100 kbit/s to 100 Gbit/s), and after it perhaps '
            '"with D ms of delay" (at most 10000)'
        )
    if not any(cast.hosts for cast in parse(sentence)):
        raise ValueError(
            f"scenario {sentence!r}: {said[0]!r} joins no hosts; say on which hosts the jobs are"
        )
    return found


def _parts(sentence: str) -> list[str]:
    return re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", sentence.strip())
