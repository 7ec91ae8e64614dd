# SPDX-License-Identifier: Apache-2.0
"""The most that can go through a graph from some nodes to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import _core
from ..base.arguments import to_float, to_int, to_ints, wrong_type

_NODES_MAX = 2**20


class MaxFlow(NamedTuple):
    """A maximum flow."""

    value: float
    """From all sources to all sinks together."""
    flow: list[float]
    """Through each arc."""
    source_side: list[bool]
    """By node: the arcs from a True to a False one are a minimum cut."""


def max_flow(
    nodes: int,
    arcs: Iterable[Sequence],
    sources: int | Sequence[int],
    sinks: int | Sequence[int],
) -> MaxFlow:
    """Return a maximum flow of a directed graph. Local; O(V² E), Dinic 1970.

    Parameters
    ----------
    nodes
        Their number; they are called 0 to `nodes` − 1.
    arcs
        (from, to, capacity) of each; whole capacities below 2⁵³ give a whole, exact flow.
    sources, sinks
        One node or several, which are joined by a logical source and sink without a limit.

    Raises
    ------
    InvalidArgument
        A node that does not exist or is source and sink; a capacity that is negative or not finite;
        capacities of which float64 cannot hold the sum.

    Examples
    --------
    >>> import fluvial as fl
    >>> fl.route.max_flow(4, [(0, 1, 3), (0, 2, 1), (1, 3, 2), (2, 3, 5)], 0, 3).value
    3.0
    """
    count = to_int(nodes, "nodes", 0, _NODES_MAX)
    if isinstance(arcs, str | bytes) or not isinstance(arcs, Iterable):
        raise wrong_type("arcs", arcs, "a list of (from, to, capacity)")
    given = []
    for arc in arcs:
        if not isinstance(arc, Sequence) or isinstance(arc, str) or len(arc) != 3:
            raise wrong_type("an arc", arc, "a tuple of from, to and capacity")
        ends = to_int(arc[0], "the node of an arc"), to_int(arc[1], "the node of an arc")
        given.append((*ends, to_float(arc[2], "the capacity of an arc")))
    begin, end = (
        [to_int(node, f"a node of {what}") for node in to_ints(nodes_given, what)]
        for what, nodes_given in (("sources", sources), ("sinks", sinks))
    )
    return MaxFlow(*_core.max_flow(count, given, begin, end))
