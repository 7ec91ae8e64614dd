# SPDX-License-Identifier: Apache-2.0
"""What the ranks of each host write into a folder of BP: the first rank there, by the library."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..mpi.communicator import Communicator
from ..mpi.together import Together
from ..store.bp_joined_index import BpPartOfHost, MetadataOfStep
from ..store.bp_output import BpOutputOfHosts
from ..store.bp_writer import StepOfProcess
from ..store.numbered_files import has_number
from ..store.step_contents import Places
from .file_write_step import Part, Put
from .host_ranks import HostRanks, hosts_of

_OfRank = dict[str, tuple[tuple[int, ...], Sequence[Part]]]
"""Shape and parts of datasets."""


def bp_hosts(engine: str, path: str, comm: Communicator | None, ranks: Together) -> BpHosts | None:
    """Return a rank's end of what its host writes. Collective.

    None where there is one host, whose first rank then writes all, or another engine than BP.
    """
    if engine != "bp":
        return None
    host_of = hosts_of(ranks)
    return BpHosts(path, comm, ranks, host_of) if max(host_of) > 0 else None


class BpHosts(HostRanks):
    """A rank's end of what its host writes; the first rank of the host writes it. Collective.

    Parameters
    ----------
    path
        Of the series.
    comm
        All ranks.
    ranks
        The same, as they work together.
    host_of
        The number of each rank's host.
    """

    def __init__(
        self, path: str, comm: Communicator | None, ranks: Together, host_of: Sequence[int]
    ) -> None:
        super().__init__(path, comm, ranks, host_of)
        self._numbered = has_number(path)
        self._part: BpPartOfHost | None = None
        self._output: BpOutputOfHosts | None = None
        self._bytes_of_step = 0

    def new_output(self, path: str, pattern: str | None) -> BpOutputOfHosts:
        """Return the output of a new folder; on the first rank of all."""
        self._output = BpOutputOfHosts(path, pattern)
        return self._output

    def write(self, put: Put, places: Places) -> int:
        """Write what the ranks have put into a step; return the bytes that this one writes.

        Raises
        ------
        SystemError
            It cannot be written, on any host.
        """
        written = self.all.run(lambda: self._write_of_host(put, places), everywhere=True)
        of_all = self.all.gather(written)
        if self._output is not None:
            self._output.take([of_host for of_host in of_all if of_host is not None])
        return self._bytes_of_step

    def _write_of_host(self, put: Put, places: Places) -> MetadataOfStep | None:
        mine: _OfRank = {
            name: (put.extents[name].shape, parts)
            for name, parts in self.parts_of(put, places).items()
        }
        of_host = self.ranks.gather(mine)
        return self._write_step(put.number, places.path, of_host) if self.rank == 0 else None

    def _write_step(self, number: int, path: str, of_host: Sequence[_OfRank]) -> MetadataOfStep:
        shapes: dict[str, tuple[int, ...]] = {}
        parts: dict[str, list[Part]] = {}
        for of_rank in of_host:
            for name, (shape, found) in of_rank.items():
                shapes[name] = shape
                parts.setdefault(name, []).extend(found)
        if self._part is None:
            self._part = self._new_part(path)
        said = None if self._output is None else self._output.said
        self._bytes_of_step = sum(part.array.nbytes for found in parts.values() for part in found)
        metadata = self._part.write(StepOfProcess(number, shapes, parts, said))
        if self._numbered:
            self.close()
        return metadata

    def _new_part(self, path: str) -> BpPartOfHost:
        try:
            return BpPartOfHost(path, self.host)
        except OSError as error:
            raise _core.SystemError(
                f"'{error.filename or path}' cannot be made: got {error.strerror}; allowed: a "
                "folder that all hosts see, in which this user may write"
            ) from None

    def give_up(self, number: int) -> None:
        """Leave a step out that was not written: the folder of a numbered one is removed."""
        if self._numbered and self._part is not None:
            self._part.leave()
            self._part = None

    def close(self) -> None:
        """Close what this host writes. Local; SystemError where it cannot be. Idempotent."""
        part, self._part = self._part, None
        if part is not None:
            part.close()
