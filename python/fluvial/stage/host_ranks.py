# SPDX-License-Identifier: Apache-2.0
"""The ranks of each host, which write something of their own into files."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from ..mpi.communicator import Communicator
from ..mpi.together import Together
from ..store.step_contents import Places
from .file_write_step import Part, Put


def hosts_of(ranks: Together) -> list[int]:
    """Return the number of each rank's host, in the order in which ranks have them. Collective."""
    names = ranks.gather_everywhere(socket.gethostname())
    hosts = list(dict.fromkeys(names))
    return [hosts.index(name) for name in names]


class HostRanks:
    """The ranks of the host of this one. Collective.

    Parameters
    ----------
    path
        Of the series.
    comm
        All ranks; None: this process alone.
    ranks
        The same, as they work together.
    host_of
        The number of each rank's host, where it is known; None: ranks tell each other.
    """

    def __init__(
        self,
        path: str,
        comm: Communicator | None,
        ranks: Together,
        host_of: Sequence[int] | None = None,
    ) -> None:
        self.host_of = hosts_of(ranks) if host_of is None else host_of
        self.hosts = max(self.host_of) + 1
        rank = 0 if comm is None else comm.rank
        self.host = self.host_of[rank]
        self._comm = None if comm is None else comm.Split(self.host, rank)
        self.all = ranks
        self.ranks = ranks.some(self._comm, f"write '{path}' on this host")
        self.rank = 0 if self._comm is None else self._comm.rank

    def parts_of(self, put: Put, places: Places) -> dict[str, list[Part]]:
        """Return what this rank has put of the datasets that hosts write. Local."""
        return {name: put.parts[name] for name in sorted(places.by_host) if name in put.parts}

    def free(self) -> None:
        """Free the communicator of the host. Collective; once, at the end."""
        if self._comm is not None:
            self._comm.Free()
