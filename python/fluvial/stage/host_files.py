# SPDX-License-Identifier: Apache-2.0
"""What the ranks of each host write into a file of their own: no file is shared between hosts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_choice
from ..base.messages import shown
from ..mpi.communicator import Communicator
from ..mpi.together import Together
from ..store.hdf5_host_file import HostFile, path_of_host
from ..store.numbered_files import has_number
from ..store.output_file import write_part
from ..store.step_contents import Places, Region
from .file_write_step import Put
from .host_ranks import HostRanks


def to_by_host(file_per: object, name: str, engine: str, compression: str | None) -> bool:
    """Return whether each host has a file of its own; raise where it cannot be."""
    by_host = to_choice(file_per, "file_per", ("job", "host")) == "host"
    if by_host and (engine != "hdf5" or has_number(name) or compression not in (None, "none")):
        raise InvalidArgument(
            f"each host cannot have a file of these: got {shown(name)}, engine {engine!r}, "
            f"compression {shown(compression)}; allowed: HDF5 of one name without a number, "
            "'run.h5', not compressed. Leave file_per out"
        )
    return by_host


class HostFiles(HostRanks):
    """A rank's end of the file of its host; the first rank of the host lays it out. Collective.

    Parameters
    ----------
    path
        Of the series' own file, which says where in the datasets the parts belong.
    comm
        All ranks; None: this process alone.
    ranks
        The same, as they work together.
    """

    def __init__(self, path: str, comm: Communicator | None, ranks: Together) -> None:
        super().__init__(path, comm, ranks)
        self._path = path_of_host(path, self.host)
        self._file = HostFile(self._path) if self.rank == 0 else None
        self._opened = -1

    def regions(
        self, of_all: Sequence[Mapping[str, Sequence[Region]]]
    ) -> list[dict[str, list[Region]]]:
        """Return what ranks have put by host, in the order in which its file has it."""
        found: list[dict[str, list[Region]]] = [{} for _ in range(self.hosts)]
        for rank, regions in enumerate(of_all):
            for name, put in regions.items():
                found[self.host_of[rank]].setdefault(name, []).extend(put)
        return found

    def write(self, put: Put, places: Places) -> int:
        """Write what this rank has put of `places.by_host`; return the bytes. Collective.

        Raises
        ------
        SystemError
            There is no room on the disk, or the file is not seen by all ranks of the host.
        """
        if not places.by_host:
            return 0
        return self.all.run(lambda: self._write_of_host(put, places), everywhere=True)

    def _write_of_host(self, put: Put, places: Places) -> int:
        mine = self.parts_of(put, places)
        counts = {
            name: (found[0].array.dtype, sum(part.array.size for part in found))
            for name, found in mine.items()
        }
        of_host = self.ranks.gather(counts)
        begins = self.ranks.run(lambda: self._lay_out(put.number, of_host))[self.rank]
        written = 0
        for name, found in mine.items():
            at = begins.get(name, 0)
            for _, array in found:
                row = np.ascontiguousarray(array).reshape(-1)
                write_part(self._file_descriptor(), self._path, at, row.shape, (0,), row)
                at += row.nbytes
                written += row.nbytes
        return written

    def _lay_out(
        self, number: int, of_host: Sequence[Mapping[str, tuple[np.dtype, int]]]
    ) -> list[dict[str, int]]:
        """Make the datasets of a step; return where each rank's parts begin."""
        lengths: dict[str, tuple[np.dtype, int]] = {}
        before: list[dict[str, int]] = []  # bytes of the ranks below
        for counts in of_host:
            before.append({})
            for name, (dtype, count) in counts.items():
                length = lengths.get(name, (dtype, 0))[1]
                before[-1][name] = length * dtype.itemsize
                lengths[name] = dtype, length + count
        assert self._file is not None
        begins = self._file.lay_out(number, lengths)
        return [
            {name: begins[name] + skipped for name, skipped in of_rank.items() if name in begins}
            for of_rank in before
        ]

    def _file_descriptor(self) -> int:
        if self._opened < 0:
            try:
                self._opened = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            except OSError as error:
                raise _core.SystemError(
                    f"'{self._path}' cannot be opened: got {error.strerror}; allowed: a file that "
                    "all ranks of a host see"
                ) from None
        return self._opened

    def give_up(self, number: int) -> None:
        """Take a step out again that was not written; what has failed before may fail here."""
        if self._file is not None:
            with contextlib.suppress(OSError, RuntimeError, KeyError):
                self._file.give_up(number)

    def close(self) -> None:
        """Close the file. Local; SystemError where it cannot be written. Idempotent."""
        opened, self._opened = self._opened, -1
        if opened >= 0:
            os.close(opened)
        if self._file is not None:
            self._file.close()
