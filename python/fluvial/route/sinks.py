# SPDX-License-Identifier: Apache-2.0
"""Which sink takes which part of data that hosts have very unevenly."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .. import _core
from ..base.arguments import to_int, to_mapping
from .network import Host, Hosts, Topology, topology


def balance_sinks(
    network: str | os.PathLike[str] | Topology, data: Mapping[Host, int], sinks: Hosts
) -> list[tuple[int, int, float]]:
    """Return flows by which each sink takes as much data as the others, wherever it lies. Local.

    The data of all hosts, in a row in the order of `data`, is cut into equal parts; the first goes
    to the first sink. So neighbours in both should lie close together. `sparse_write` gives its
    writers the same parts. After Bui et al. 2016, section 6: what keeps all waiting is the sink
    that takes most.

    Parameters
    ----------
    network
        A topology, or the text or path that `topology` takes.
    data
        Bytes by the number or name of the host that has them.
    sinks
        One or several hosts, such as the I/O hosts of ``"bgq:4x4x4x4x2,io=64"``, which come behind
        the hosts that compute.

    Returns
    -------
    list
        (source, sink, bytes) of each flow, as `plan` takes them; those of one host cover its data
        one after the other.

    Raises
    ------
    InvalidArgument
        No such hosts, no sink, bytes that are negative.

    Examples
    --------
    >>> import fluvial as fl
    >>> torus = fl.route.topology("bgq:4x4x4x4x2,io=64")
    >>> flows = fl.route.balance_sinks(torus, {0: 3000, 1: 1000}, range(512, torus.hosts))
    >>> flows[:2], flows[-1]
    ([(0, 512, 500.0), (0, 513, 500.0)], (1, 519, 500.0))
    >>> fl.route.plan(torus, flows).speed_up > 1
    True
    """
    where = topology(network)
    given = [
        (where.host(host), to_int(size, "the bytes of a host", 0, 2**53))
        for host, size in to_mapping(data, "data", "a dict of bytes by host").items()
    ]
    return _core.balance_sinks(where._core, given, where._hosts(sinks))
