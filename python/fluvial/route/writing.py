# SPDX-License-Identifier: Apache-2.0
"""Shared files of data that ranks have very unevenly."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_bool, to_choice, to_float, to_int, to_mapping, to_path
from ..mpi.communicator import Communicator, handle_of
from .exchanging import limit_or_default, to_bytes
from .network import Topology, topology
from .planning import PLANNERS

_BLOCK_MAX = 2**30


class SparseWritten(NamedTuple):
    """What `sparse_write` has written, and which ranks wrote it."""

    bytes: int
    """Of the data of all ranks."""
    here: int
    """That this rank has written."""
    at_most: int
    """That any rank has written."""
    writers: tuple[int, ...]
    """The ranks that wrote, in the order of their parts of the file."""
    paths: int
    """The most paths by which one rank's data went to a writer."""


def sparse_write(
    comm: Communicator | None,
    file: str | os.PathLike[str],
    data: Mapping[int, npt.ArrayLike] | None = None,
    *,
    writers: int | None = None,
    align: int = 2**20,
    window: int = 2**25,
    stall_timeout: float = 300.0,
    network: str | os.PathLike[str] | Topology | None = None,
    planner: str = "best",
    strict: bool = False,
) -> SparseWritten:
    r"""Write one file, of which some ranks have much, some little and some nothing. Collective.

    Some ranks write, each as much of the data as the others, in large blocks; the others send them
    what they have. The file is as if each rank had written its own parts, by MPI-IO for example. It
    is made where there is none, and what it has in other places stays. Blocking. After Bui et al.
    2016, section 6: what pays is that no writer has more to do than the others.

    Parameters
    ----------
    comm
        An mpi4py communicator. None: this process alone.
    file
        Its path, the same on all ranks, which must reach it.
    data
        By the byte of the file where each begins: arrays, whose elements are written row by row,
        the last axis fastest, as ``tofile()`` does. No byte may come twice, nor from two ranks.
    writers
        How many ranks write; one for each host unless given. Of a host, those with most data.
    align
        Blocks begin and end at multiples of so many bytes: best the stripe of the file system.
    window
        Bytes of a block at most, a multiple of `align`; a writer holds two blocks at a time.
    stall_timeout
        Seconds without any movement on this rank after which it gives up.
    network
        A topology, or the text or path that `topology` takes: writers then are ranks to which the
        data burdens the links least, each with the part of the file of which it has most where
        that is as good, and the data goes to them along planned paths, several where that pays.
    planner, strict
        As in `plan` and in `exchange`.

    Raises
    ------
    InvalidArgument
        On all ranks: parts overlap, or ranks differ in what they ask for.
    SystemError
        On all ranks: the file is no regular one, or cannot be written. What it has then is not
        known.
    TimedOut
        Nothing has moved for `stall_timeout`.
    PeerLost, PeerStalled
        A rank of this host has died, or one has been stopped for longer than `stall_timeout`, 2 s
        at least. What a rank raises is raised on all that wait for it.

    Examples
    --------
    >>> import fluvial as fl, numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = fl.route.sparse_write(None, f"{folder}/x", {0: b"ab", 4: b"ef"})
    ...     print(written.bytes, open(f"{folder}/x", "rb").read())
    4 b'ab\x00\x00ef'
    """
    size, here, at_most, writing, paths, warning = _core.sparse_write(
        handle_of(comm),
        limit_or_default(stall_timeout),
        lambda: (
            *_prepare(file, data, writers, align, window, stall_timeout),
            None if network is None else topology(network)._core,
            to_choice(planner, "planner", PLANNERS),
            to_bool(strict, "strict"),
        ),
    )
    if warning:
        warnings.warn(warning, UserWarning, stacklevel=2)
    return SparseWritten(size, here, at_most, tuple(writing), paths)


def _prepare(
    file: str | os.PathLike[str],
    data: Mapping[int, npt.ArrayLike] | None,
    writers: int | None,
    align: int,
    window: int,
    stall_timeout: float,
) -> tuple[object, ...]:
    """Return what the core needs; what this raises on one rank is raised on all."""
    timeout = to_float(stall_timeout, "stall_timeout")
    if not timeout > 0:
        raise InvalidArgument(f"stall_timeout is out of range: got {timeout}; allowed: above 0 s")
    return (
        to_path(file, "file"),
        {
            to_int(offset, "the place of a part", 0): to_bytes(array)
            for offset, array in to_mapping(data, "data", "a dict of arrays by place").items()
        },
        0 if writers is None else to_int(writers, "writers", 1, 2**30),
        to_int(align, "align", 1, _BLOCK_MAX),
        to_int(window, "window", 1, _BLOCK_MAX),
        timeout,
    )
