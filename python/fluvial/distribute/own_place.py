# SPDX-License-Identifier: Apache-2.0
"""Where in its host a process runs, as the kernel says it."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from pathlib import Path

_SYSTEM = Path("/sys/devices/system")


def own_place() -> dict[str, str | int]:
    """Return the host, socket and NUMA node of this process, as `assign` takes them. Local.

    A socket or NUMA node is among them where all cores that the process may use belong to it: start
    the job with processes that are bound, such as by ``mpiexec --bind-to numa``. Sockets and nodes
    have the numbers of the kernel.

    Returns
    -------
    dict
        ``{"host": "node1", "socket": 0, "numa": 1}``, or less.

    Examples
    --------
    >>> import fluvial as fl
    >>> places = [fl.distribute.own_place()]  # under MPI: comm.allgather(fl.distribute.own_place())
    >>> chunks = [((0,), (10,), 0, places[0])]
    >>> len(fl.distribute.assign(chunks, places, "by-host(blocks)").shares[0])
    1
    """
    return place_of(socket.gethostname(), os.sched_getaffinity(0), _SYSTEM)


def place_of(host: str, cores: Collection[int], system: Path) -> dict[str, str | int]:
    """Return the place of a process that may use these cores, by the kernel's folder."""
    place: dict[str, str | int] = {"host": host}
    sockets = {_number(system / f"cpu/cpu{core}/topology/physical_package_id") for core in cores}
    if len(sockets) == 1 and (socket_ := sockets.pop()) is not None:
        place["socket"] = socket_
    for node in sorted(system.glob("node/node[0-9]*")):
        if set(cores) <= _cores_of(node):
            place["numa"] = int(node.name.removeprefix("node"))
    return place


def _number(path: Path) -> int | None:
    """Return the number in a file; None where there is none, or -1: the kernel does not know."""
    try:
        found = int(path.read_text())
    except (OSError, ValueError):
        return None
    return found if found >= 0 else None


def _cores_of(node: Path) -> set[int]:
    """Return the cores of a NUMA node, which the kernel lists as in 0-3,8."""
    try:
        words = (node / "cpulist").read_text().strip().split(",")
        ranges = [word.split("-") for word in words if word]
        return {core for ends in ranges for core in range(int(ends[0]), int(ends[-1]) + 1)}
    except (OSError, ValueError):
        return set()
