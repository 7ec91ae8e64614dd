# SPDX-License-Identifier: Apache-2.0
"""Datasets of which some ranks write equal parts for all, wherever the elements come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .. import _core
from ..base.arguments import ndim_max, to_int
from ..mpi.communicator import Communicator, handle_of
from ..mpi.together import Together
from ..store.output_file import as_stored
from ..store.step_contents import Extent, Parts, Places, Region, SharedDataset


def to_aggregators(aggregators: object) -> int | None:
    """Return how many ranks write, 0 for each its own; None: as it suits."""
    return None if aggregators is None else to_int(aggregators, "aggregators", 0, 2**30)


class SharedOut:
    """The ranks of a series that write some datasets in that way. Collective.

    Parameters
    ----------
    comm
        The series' own communicator; None: this process alone, which shares out nothing.
    aggregators
        What `to_aggregators` returns.
    watch, timeout
        Look after the other ranks while this one waits for them.
    """

    def __init__(
        self,
        comm: Communicator | None,
        aggregators: int | None,
        watch: _core.WatchedTask,
        timeout: float,
    ) -> None:
        self._aggregators = aggregators
        self._watch = watch
        self._timeout = timeout
        self._writer = None
        if comm is not None and comm.size > 1 and aggregators != 0:
            handle = handle_of(comm)
            assert handle is not None
            self._writer = _core.DatasetWriter(handle)

    def choose(
        self,
        places: Places,
        extents: Mapping[str, Extent],
        of_all: Sequence[Mapping[str, Sequence[Region]]],
    ) -> Places:
        """Return the places of a step with the datasets that are shared out. On the first rank."""
        if self._writer is None:
            return places
        shared = {}
        for name in places.begins.keys() - places.kept:
            if name not in extents or len(extents[name].shape) > ndim_max:
                continue
            regions = [of_one.get(name, ()) for of_one in of_all]
            size = np.dtype(extents[name].dtype).itemsize
            made = SharedDataset(places.begins[name], extents[name].shape, size, regions)
            if self._aggregators is not None or self._writer.in_small_pieces(made):
                shared[name] = made
        return places._replace(shared=shared)

    def write(self, ranks: Together, places: Places, parts: Mapping[str, Parts]) -> int:
        """Write what is shared out; return the bytes of this rank's `parts`. Collective."""
        if not places.shared:
            return 0
        writer = self._writer
        assert writer is not None
        names = sorted(places.shared)

        def arrays_here() -> list[list[np.ndarray]]:
            writer.check()
            return [[_bytes(a, places.big_endian) for _, a in parts.get(n, ())] for n in names]

        arrays = ranks.run(arrays_here, everywhere=True)
        datasets = [places.shared[name] for name in names]
        writers = self._aggregators or 0
        writer.write(self._watch, self._timeout, places.path, writers, datasets, arrays)
        return sum(array.nbytes for of_one in arrays for array in of_one)


def _bytes(array: np.ndarray, big_endian: bool) -> np.ndarray:
    return as_stored(array, big_endian).reshape(-1).view(np.uint8)
