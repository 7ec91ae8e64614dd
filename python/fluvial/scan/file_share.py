# SPDX-License-Identifier: Apache-2.0
"""What a rank gets of datasets in files, by a strategy."""

from __future__ import annotations

import hashlib
import math
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_names
from ..base.messages import shown
from ..distribute.assignment import Strategy, assign, describe
from ..distribute.own_strategy import Own
from ..distribute.piece import ANYWHERE, Piece
from ..mpi.communicator import Communicator, world
from ..mpi.together import Together
from .view import View

_CHUNKS_MAX = 1 << 16  # of a dataset: beyond that neighbours along the first axis go together


class Shared(Protocol):
    """What is needed of a dataset in files."""

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is selected."""

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Extents of the chunks in the file; None when it has none."""

    @property
    def view(self) -> View:
        """What is selected."""


def share_of_files(
    datasets: Mapping[str, Shared],
    names: Iterable[str] | None,
    comm: Communicator | None,
    strategy: Strategy,
    own: Mapping[str, Own] | None,
) -> dict[str, list[Piece]]:
    """Return this rank's parts of each dataset. Collective over `comm`; no data moves.

    What is distributed are the chunks in which a dataset is stored, or all of it where it is not
    stored in chunks. Which ranks wrote them is not known, and they are near to all readers:
    ``by-host(within, …)`` and the like distribute them by `within` among all.

    Raises
    ------
    InvalidArgument
        An unknown strategy or dataset, on any rank; the ranks differ in what they ask for.
    Error
        The strategy leaves elements without a reader.
    """
    comm = world() if comm is None else comm
    error, asked = None, ""
    wanted: list[str] = []
    try:
        wanted = to_names(names, datasets)
        asked = f"{describe(strategy, own)} of {', '.join(wanted)}"
        chunks = {name: chunks_of(datasets[name]) for name in wanted}
    except _core.Error as raised:
        error = raised
    mine = (asked, socket.gethostname(), None if error is None else str(error))
    of_all = [mine] if comm is None else Together(comm).all_have(mine)
    if error is not None:
        raise error
    _check_alike(of_all)
    rank = 0 if comm is None else comm.rank
    places = [host for _, host, _ in of_all]
    shares: dict[str, list[list[Piece]]] = {}
    failure: Exception | None = None
    try:
        for name in wanted:
            near_to_all = [(*chunk, 0, ANYWHERE) for chunk in chunks[name]]
            shares[name] = assign(
                near_to_all, places, strategy, own=own, itemsize=datasets[name].dtype.itemsize
            ).shares
    except Exception as raised:  # of a strategy of the user's own, too
        failure = raised
    if comm is not None and (own or callable(strategy)):
        _check_same_shares(comm, shares, failure)
    if failure is not None:
        raise failure
    return {name: of_ranks[rank] for name, of_ranks in shares.items()}


def _check_same_shares(
    comm: Communicator, shares: Mapping[str, object], failure: Exception | None
) -> None:
    """Raise where a strategy of the user's own failed on another rank, or assigns differently."""
    digest = hashlib.sha256(repr(sorted(shares.items())).encode()).hexdigest()
    of_all = Together(comm).all_have((digest, None if failure is None else str(failure)))
    if failure is not None:
        return
    for rank, (_, said) in enumerate(of_all):
        if said is not None:
            raise InvalidArgument(f"rank {rank} of {len(of_all)}: {said}")
    if len({digest for digest, _ in of_all}) > 1:
        raise InvalidArgument(
            "a strategy assigns other pieces on one rank than on another, so that elements would "
            "be had twice or by none; allowed: one that gives all ranks the same. Leave out what "
            "differs by rank, by chance or by the order of a set"
        )


def chunks_of(dataset: Shared) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return offset and extent of the chunks of what is selected of a dataset.

    Of a dataset of which a part is selected by indices with a step, or backwards, all is one chunk.
    """
    shape = dataset.shape
    grid = _grid(dataset)
    if grid is None:
        return [((0,) * len(shape), shape)]
    extent = list(grid)
    while math.prod(-(-n // e) for n, e in zip(shape, extent, strict=True)) > _CHUNKS_MAX:
        axis = int(np.argmax([n / e for n, e in zip(shape, extent, strict=True)]))
        extent[axis] *= 2
    counts = [-(-n // e) for n, e in zip(shape, extent, strict=True)]
    found = []
    for at in np.ndindex(*counts):
        begin = tuple(i * e for i, e in zip(at, extent, strict=True))
        size = (min(e, n - b) for b, e, n in zip(begin, extent, shape, strict=True))
        found.append((begin, tuple(size)))
    return found


def _grid(dataset: Shared) -> tuple[int, ...] | None:
    """Return the extents of stored chunks along the axes that are left; None without any."""
    view, stored = dataset.view, dataset.chunks
    if stored is None or len(stored) != len(view.dims) or not dataset.shape:
        return None
    grid = []
    for at, length, extent in zip(view.axes, view.shape, stored, strict=True):
        if isinstance(at, int):
            continue
        if at != range(length):
            return None
        grid.append(max(extent, 1))
    return tuple(grid)


def _check_alike(of_all: Sequence[tuple[str, str, str | None]]) -> None:
    """Raise where another rank has failed, or asks for something else."""
    for rank, (asked, _, error) in enumerate(of_all):
        if error is not None:
            raise InvalidArgument(f"{error} (rank {rank})")
        if asked != of_all[0][0]:
            raise InvalidArgument(
                f"the ranks differ in the strategy: got {shown(asked)} on rank {rank}; allowed: "
                f"{shown(of_all[0][0])} as on rank 0. Give every rank the same"
            )
