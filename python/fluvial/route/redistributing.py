# SPDX-License-Identifier: Apache-2.0
"""Global arrays that two groups of ranks cut in different ways."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_array, to_choice, to_dtype, to_int, to_ints, wrong_type
from ..mpi.communicator import Communicator, handle_of
from .exchanging import limit_or_default, to_transfer
from .network import Topology, topology
from .planning import PLANNERS

Box = tuple[Sequence[int] | int, Sequence[int] | int]
"""The offset of its first element in the global array, and its extent."""


class RankFlow(NamedTuple):
    """What one rank sends to another in each step."""

    source: int
    destination: int
    bytes: int
    paths: tuple[tuple[int, ...], ...]
    """Ranks, the source and the destination included."""


_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


class Redistribution:
    """A global array that one group of ranks has and another one wants, cut in different ways.

    The M×N coupling of physics modules: a model on M ranks hands its field to one on N ranks, step
    after step. Which rank sends what to which follows from the boxes that the ranks declare; it is
    worked out once, and so are the paths that the data takes through the network. The two groups
    are ranks of one communicator, and may have ranks in common.

    Collective, blocking. An allgather of the boxes. Also a context manager, which closes it.

    Parameters
    ----------
    comm
        An mpi4py communicator with the ranks of both groups. None: this process alone. Ranks that
        declare nothing must call as well: they may be proxies.
    shape, dtype
        Of the global array, the same on all ranks; in the byte order of the machine.
    has, wants
        Boxes of this rank: a list of (offset, extent), of any number and size, or none. No element
        is on two ranks. Several ranks may want the same one, such as a halo.
    network
        A topology, or the text or path that `topology` takes: flows are planned together, and take
        several paths where that pays. None: each flow is one message.
    planner
        As in `plan`.
    paths, window, costs
        As in `exchange`.
    stall_timeout
        Seconds to wait for a rank that does not declare, and, in `move`, seconds without any
        movement on this rank, after which it gives up.
    reroute_after, checksum, strict
        As in `exchange`; `checksum` for flows of one message, too.

    Raises
    ------
    InvalidArgument
        On all ranks: boxes overlap or lie outside, an element is wanted that no rank has, ranks
        differ in shape, dtype, network or options.
    TimedOut
        A rank has not called within `stall_timeout`.

    Examples
    --------
    >>> import fluvial as fl, numpy as np
    >>> field = np.arange(12.0).reshape(3, 4)
    >>> with fl.route.Redistribution(
    ...     None, (3, 4), "f8", has=[((0, 0), (3, 4))], wants=[((1, 2), (2, 2))]
    ... ) as coupling:
    ...     coupling.move([field])[0]
    array([[ 6.,  7.],
           [10., 11.]])
    """

    def __init__(
        self,
        comm: Communicator | None,
        shape: Sequence[int] | int,
        dtype: npt.DTypeLike,
        *,
        has: Iterable[Box] = (),
        wants: Iterable[Box] = (),
        network: str | os.PathLike[str] | Topology | None = None,
        planner: str = "best",
        paths: int | None = None,
        window: int | None = None,
        costs: str = "mpi",
        stall_timeout: float = 300.0,
        reroute_after: float | None = None,
        checksum: bool = False,
        strict: bool = False,
    ) -> None:
        wanted: list[tuple[int, ...]] = []

        def prepare() -> tuple[object, ...]:
            kind = _to_native_dtype(dtype)
            boxes = to_boxes(wants, "wants")
            wanted.extend(extent for _, extent in boxes)
            return (
                tuple(to_int(n, "an entry of shape", 0) for n in to_ints(shape, "shape")),
                "uint8" if kind == np.bool_ else kind.name,
                to_boxes(has, "has"),
                boxes,
                None if network is None else topology(network)._core,
                to_choice(planner, "planner", PLANNERS),
                to_transfer(paths, window, costs, stall_timeout, reroute_after, checksum, strict),
            )

        limit = limit_or_default(stall_timeout)
        self._core = _core.make_redistribution(handle_of(comm), limit, prepare)
        self._extents = wanted
        self._dtype = np.dtype(dtype)
        self._rank = 0 if comm is None else comm.Get_rank()
        self._said = ""
        self._warn()

    def move(
        self, arrays: Iterable[npt.ArrayLike] = (), out: Iterable[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Move one step. Collective, blocking; a rank that waits serves its streams meanwhile.

        Parameters
        ----------
        arrays
            An array for each box of `has`, with any strides.
        out
            An array for each box of `wants`, with any strides, in which its elements are put; new
            ones unless given. Each lies apart from all other arrays of the step.

        Returns
        -------
        list
            The arrays of the boxes of `wants`.

        Raises
        ------
        InvalidArgument
            On all ranks: a rank has passed arrays of another number, dtype or shape. What is in
            `out` then is not known; the next step works.
        TimedOut
            Nothing has moved for `stall_timeout`; the redistribution is lost.
        DamagedMessage
            On all ranks: a checksum differs.
        """
        found: list[np.ndarray] = []

        def prepare() -> tuple[list[np.ndarray], list[np.ndarray]]:
            given = [to_array(array, "an array of a box") for array in arrays]
            if out is None:
                found[:] = [np.empty(extent, self._dtype) for extent in self._extents]
            else:
                found[:] = out
                _check_out(found, given)
            self._check_bools([*given, *found])
            return given, found

        self._core.move(prepare)
        if self._core.warning() != self._said:
            self._warn()
        return found

    def _check_bools(self, arrays: Iterable[np.ndarray]) -> None:
        """Refuse bytes for bools, and bools for bytes, which are moved alike."""
        wanted = self._dtype
        for dtype in (array.dtype for array in arrays):
            if np.bool_ in (dtype, wanted) and dtype != wanted:
                raise InvalidArgument(
                    f"an array of a box has another dtype: got {dtype}; allowed: {wanted}, as of "
                    f"the redistribution. Move array.astype({wanted.str!r})"
                )

    @property
    def flows(self) -> list[RankFlow]:
        """What goes from one rank to another, the same on all ranks."""
        return [RankFlow(*flow) for flow in self._core.flows()]

    @property
    def speed_up(self) -> float:
        """How many times as fast as direct messages large ones are, by the plan; or 1."""
        return self._core.speed_up()

    def explain(self) -> str:
        """Return a line a flow: how much it is, and by which ranks it goes.

        Examples
        --------
        >>> import fluvial as fl
        >>> fl.route.Redistribution(None, 4, "f4").explain()
        ''
        """
        return "\n".join(
            f"{flow.source} → {flow.destination}: {flow.bytes} bytes, by "
            + ", ".join(" → ".join(map(str, path)) for path in flow.paths)
            for flow in self.flows
        )

    def close(self) -> None:
        """Free what the ranks have for it. Collective; after an error local."""
        self._core.close()

    def __enter__(self) -> Redistribution:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._core.abandon()  # the other ranks may not come

    def _warn(self) -> None:
        said = self._core.warning()
        if said != self._said and self._rank == 0:
            warnings.warn(said, UserWarning, stacklevel=3)
        self._said = said

    def __repr__(self) -> str:
        return f"<fluvial.route.Redistribution, {len(self.flows)} flows>"


def _to_native_dtype(dtype: npt.DTypeLike) -> np.dtype:
    kind = to_dtype(dtype)
    if kind.name not in _DTYPES:
        raise InvalidArgument(
            f"unsupported dtype: got '{kind.name}'; allowed: {', '.join(_DTYPES)}. Convert the "
            "array first"
        )
    if not kind.isnative:
        raise InvalidArgument(
            f"dtype has another byte order than this machine: got {kind.str!r}; allowed: "
            f"{kind.newbyteorder('=').str!r}. Move array.astype({kind.newbyteorder('=').str!r})"
        )
    return kind


def to_boxes(boxes: object, what: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return (offset, extent) of each."""
    allowed = "a list of (offset, extent)"
    if isinstance(boxes, str | bytes) or not isinstance(boxes, Iterable):
        raise wrong_type(what, boxes, allowed)
    found = []
    for box in boxes:
        if isinstance(box, str | bytes) or not isinstance(box, Sequence) or len(box) != 2:
            raise wrong_type(f"a box of {what}", box, allowed)
        found.append((to_ints(box[0], "the offset"), to_ints(box[1], "the extent")))
    return found


def _check_out(out: list[np.ndarray], given: list[np.ndarray]) -> None:
    """Raise where an array cannot be written, or its memory is that of another one."""
    for i, array in enumerate(out):
        if not isinstance(array, np.ndarray):
            raise wrong_type("out", array, "a list of NumPy arrays")
        if not array.flags.writeable:
            raise InvalidArgument("out cannot be written: got a read-only array. Pass a copy of it")
        for other in (*given, *out[:i]):
            if np.may_share_memory(array, other):
                raise InvalidArgument(
                    "an array in out reaches into the memory of another one of the step: got "
                    f"views of shapes {array.shape} and {other.shape}; allowed: arrays of which "
                    "each ends before the other begins. Pass a copy of one of them"
                )
