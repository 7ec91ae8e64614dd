# SPDX-License-Identifier: Apache-2.0
"""Operators on NumPy arrays, serially or over the ranks of a communicator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from ._core import InvalidArgument, Reduction, Terms, check_alike, dtype_name
from ._core import Operator as NativeOperator
from .base.arguments import ndim_max, to_array, to_int, wrong_type
from .compute.companions import Labels, companions, in_order_of, spread
from .compute.passes import Results, run_passes
from .compute.registry import Reduced, Resolved, resolve
from .compute.required_counts import COUNT_OF, counts_of, with_enough
from .compute.specs import Specs, name_specs, wrap_results
from .compute.user_operator import Operator
from .describe.selection import Over, one_of, to_dims
from .mpi.communicator import Communicator, check_communicator
from .mpi.together import Together

if TYPE_CHECKING:
    from .scan.labelled import Frame

_TAG = 1

_Arrays = tuple[tuple[int, ...], list[int], list[str]]
"""What a rank says of its arrays: shape, axes to reduce over, dtypes."""


def reduce(
    op: Specs,
    arrays: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    over: Over | None = None,
    skipna: bool | None = None,
    min_count: int | None = None,
    weights: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    comm: Communicator | None = None,
    axis: Over | None = None,
    dim: Over | None = None,
) -> Reduced:
    """Reduce arrays that are in memory, with one operator or with several in one pass.

    Parameters
    ----------
    op
        A name such as "mean" or "quantile(0.9)", an operator of `fluvial.ops`, a list of these, or
        a dict of them.
    arrays
        One array, or a list of arrays of equal shape for operators with several inputs (an operator
        takes as many as it needs, the first ones). Any strides; nothing is copied. What a masked
        array masks does not count.
    over
        Axis or axes to reduce; None: all. The others are kept. Those of an xarray.DataArray may be
        given by name.
    axis, dim
        The same as `over`.
    skipna
        NaN does not count, unless an operator was made to let it propagate. False: it propagates.
    min_count
        Fewer elements that count make the result NaN, as in xarray: 1 for a sum of nothing.
    weights
        Broadcast to the arrays' shape; converted to float64. Where they are masked nothing counts.
    mask
        Broadcast to the arrays' shape; elements where it is False, or masked, do not count.
        DataArrays as weights, mask or further arrays fit a DataArray by the names of their
        dimensions, whose coordinates must be equal.
    comm
        An mpi4py communicator: the call is then collective, and every rank's arrays are parts of
        one, concatenated in rank order along the first reduced axis. Kept axes, dtypes, operators
        with their options, and whether there are weights must be the same on all ranks; functions
        and operators of your own are known by their name and their attribute `version`. Costs
        log2(ranks) messages of the size of the partial results. Without it the call is local.

    Returns
    -------
    A NumPy scalar, an array of the kept axes' shape, or what the operator says; a list of them for
    a list of operators, a dict for a dict. On all ranks. Of an xarray.DataArray a DataArray with
    the coordinates and attributes that are left, or a Dataset for several operators.

    Raises
    ------
    InvalidArgument
        On all ranks, when an argument is wrong on any, or operators differ.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> x = np.arange(12.0).reshape(3, 4)
    >>> fl.reduce("mean", x, over=1)
    array([1.5, 5.5, 9.5])
    >>> low, high = fl.reduce(["min", "max"], x)
    >>> float(low), float(high)
    (0.0, 11.0)
    """
    over = one_of(over, axis, dim)
    if comm is None:
        return _local(_prepare(op, arrays, over, skipna, min_count, weights, mask))
    check_communicator(comm)
    return _collective(comm, lambda: _prepare(op, arrays, over, skipna, min_count, weights, mask))


def _local(call: _Call) -> Reduced:
    def run(operators: Mapping[str, Resolved]) -> Results:
        reduction = call.asking(operators).reduction(call.shape)
        reduction.absorb(call.arrays, None, call.weights, call.mask)
        return reduction.finish()

    return call.wrap(run_passes(call.operators, run))


class _Call(NamedTuple):
    """The arguments of reduce, checked and converted."""

    specs: Specs
    entries: list[tuple[str, Resolved, list[int]]]
    arrays: list[np.ndarray]
    over: list[int]
    weights: np.ndarray | None
    mask: np.ndarray | None
    frame: Frame | None
    """Of a DataArray, whose results are labelled; else None."""
    required: int | None = None
    """Elements that must count for a result; their counts are the last entries."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape

    def reduction(self, shape: tuple[int, ...]) -> Reduction:
        return Reduction(self.entries, shape, [dtype_name(a) for a in self.arrays], self.over)

    @property
    def operators(self) -> dict[str, Resolved]:
        return {name: op for name, op, _ in self.entries}

    @property
    def asked(self) -> dict[str, Resolved]:
        """The operators of the user."""
        return {n: op for n, op in self.operators.items() if not n.startswith(COUNT_OF)}

    def asking(self, operators: Mapping[str, Resolved]) -> _Call:
        """Return the call with these operators instead of those of the same names."""
        kept = [(n, operators[n], numbers) for n, _, numbers in self.entries if n in operators]
        return self._replace(entries=kept)

    def wrap(self, results: Results) -> Reduced:
        operators = self.operators
        if self.required is not None:
            operators = self.asked
            results = with_enough(self.entries, results, self.required)
        if self.frame is not None:
            return self.frame.to_user(self.specs, operators, results)
        return wrap_results(self.specs, operators, results)


def _prepare(
    specs: Specs,
    arrays: object,
    over: Over | None,
    skipna: bool | None,
    min_count: int | None,
    weights: npt.ArrayLike | None,
    mask: npt.ArrayLike | None,
) -> _Call:
    frame = None
    if type(arrays) is np.ndarray:  # all that follows takes longer than a small reduction
        views = [arrays]
    else:
        _check_order(specs, arrays)
        views, frame = _as_arrays(arrays), _frame(arrays, over)
    shape = views[0].shape
    for view in views:
        if view.shape != shape:
            raise InvalidArgument(
                f"the arrays differ in shape: got {view.shape}; allowed: {shape} as the first. "
                "Slice or broadcast them."
            )
    entries = []
    for name, spec in name_specs(specs).items():
        op = resolve(spec, skipna=skipna)
        count = getattr(op, "inputs", 1)
        if count > len(views):
            raise InvalidArgument(
                f"too few arrays for {getattr(op, 'name', type(op).__name__)}: got {len(views)}; "
                f"allowed: {count}. Pass a list of arrays."
            )
        entries.append((name, op, list(range(count))))
    required = None if min_count is None else to_int(min_count, "min_count", 0)
    factors, counts = companions(weights, mask, shape, Labels.of(_first(arrays)))
    return _Call(
        specs=specs,
        entries=entries if required is None else [*entries, *counts_of(entries, required)],
        arrays=views,
        over=list(range(len(shape))) if over is None else _axes(over, arrays),
        weights=factors,
        mask=_counting(arrays, counts, shape),
        frame=frame,
        required=required,
    )


def _check_order(specs: object, arrays: object) -> None:
    """Say what comes first where the operator and the array are the wrong way round."""
    is_operator = isinstance(arrays, str | Operator | NativeOperator)
    if is_operator and not isinstance(specs, str | Operator | NativeOperator):
        raise wrong_type(
            "the operator",
            specs,
            "a name such as 'mean', or an operator of fluvial.ops",
            "The operator comes first: reduce('mean', array).",
        )


def _is_several(arrays: object) -> TypeGuard[Sequence[object]]:
    return isinstance(arrays, list | tuple) and any(
        hasattr(a, "__array__") and not isinstance(a, np.generic) for a in arrays
    )


def _first(arrays: object) -> object:
    return arrays[0] if _is_several(arrays) else arrays


def _frame(arrays: object, over: Over | None) -> Frame | None:
    """Return what surrounds the result of a DataArray; None for an array without labels."""
    xarray = sys.modules.get("xarray")
    array = _first(arrays)
    if xarray is None or not isinstance(array, xarray.DataArray):
        return None
    from .scan.labelled import frame_of  # which imports xarray, as little as can be paid for

    dims = [str(dim) for dim in array.dims]
    return frame_of(array, dims if over is None else list(to_dims(over, dims)))


def _as_arrays(arrays: object) -> list[np.ndarray]:
    """One array, or the list of arrays of a call; a list of numbers is one array.

    Further arrays that are labelled have the axes of the first one, in its order.
    """
    given = arrays if _is_several(arrays) else [arrays]
    names = "Datasets of a step or a file are reduced by its own reduce"
    labels = Labels.of(given[0]) if len(given) > 1 else None
    found = []
    for array in given:
        if isinstance(array, np.ndarray):  # what is masked is told by the mask
            values = array.data if isinstance(array, np.ma.MaskedArray) else np.asarray(array)
        else:
            values = to_array(array, "the array", names)
        found.append(in_order_of(labels, values, array))
    return found


def _counting(arrays: object, mask: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the mask of a call: what a masked array leaves out does not count either."""
    if type(arrays) is np.ndarray:
        return mask
    for array in arrays if _is_several(arrays) else [arrays]:
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            counts = spread(~np.ma.getmaskarray(array), shape, "mask")
            mask = counts if mask is None else mask & counts
    return mask


def _axes(over: Over, arrays: object) -> list[int]:
    """Return axes by number; those of a labelled array (xarray's) may be given by name."""
    dims = getattr(_first(arrays), "dims", None)
    if isinstance(dims, tuple):
        names = [str(dim) for dim in dims]
        return [names.index(dim) for dim in to_dims(over, names)]
    several = isinstance(over, Sequence | np.ndarray) and not isinstance(over, str)
    axes = [
        to_int(axis, "an axis to reduce over", -ndim_max, ndim_max - 1)
        for axis in (over if several and not isinstance(over, int) else [over])
    ]
    if not axes:
        raise InvalidArgument(
            "no axis to reduce over: got an empty list; allowed: one or more axes. "
            "Leave `over` out to reduce over all."
        )
    return axes


def _collective(comm: Communicator, prepare: Callable[[], _Call]) -> Reduced:
    """Run one reduction on all ranks: validate locally, agree, absorb, merge along a tree."""
    call, failure, facts, terms = None, None, None, Terms()
    try:
        call = prepare()
        call = call._replace(arrays=[np.atleast_1d(a) for a in call.arrays])
        if call.frame is not None:  # its labels along the joined axis are those of this rank alone
            call = call._replace(frame=call.frame._replace(labels={}))
        axes = sorted({axis % len(call.shape) for axis in call.over}) or [0]
        terms.add_entries(call.entries)
        terms.add("whether there are weights", "no" if call.weights is None else "yes")
        facts = (call.shape, axes, [dtype_name(a) for a in call.arrays]), terms.number
    except Exception as error:
        failure = error
    ranks = Together(comm)
    of_all = ranks.all_have((facts, _text(failure)))
    _raise_first(of_all, failure)
    if call is None:
        raise AssertionError("bug in Fluvial: no call and no failure")
    said = [theirs for theirs, _ in of_all if theirs is not None]  # by all, as none has failed
    if len({number for _, number in said}) > 1:
        check_alike(ranks.all_have(terms.encode()))
    shape, begin, axis = _concatenate([arrays for arrays, _ in said], ranks.rank_and_size[0])
    offset = tuple(begin if i == axis else 0 for i in range(len(shape)))

    def run(operators: Mapping[str, Resolved]) -> Results:
        return _one_pass(ranks, call.asking(operators), shape, offset)

    # All ranks get the same results, and so go on together.
    return call.wrap(run_passes(call.operators, run))


def _one_pass(
    ranks: Together, call: _Call, shape: tuple[int, ...], offset: tuple[int, ...]
) -> Results:
    encoded, failure = b"", None
    try:
        reduction = call.reduction(shape)
        reduction.absorb(call.arrays, offset, call.weights, call.mask)
        encoded = reduction.encode()
    except Exception as error:
        failure = error
    encoded, failures = _merge(ranks, call, shape, encoded, failure)
    _raise_first([(None, failures)], failure)
    total = call.reduction(shape)
    total.merge_encoded(encoded)
    return total.finish()


def _concatenate(facts: Sequence[_Arrays], rank: int) -> tuple[tuple[int, ...], int, int]:
    """Return shape of all ranks' arrays as one, where this rank's begin, and along which axis."""
    first_shape, axes, dtypes = facts[0]
    axis = axes[0]
    for other, (shape, other_axes, other_dtypes) in enumerate(facts):
        if (other_axes, other_dtypes) != (axes, dtypes) or (
            shape[:axis] + shape[axis + 1 :] != first_shape[:axis] + first_shape[axis + 1 :]
        ):
            raise InvalidArgument(
                f"the ranks' arrays do not fit together: got {shape} {other_dtypes} over "
                f"{other_axes} on rank {other}; allowed: {first_shape} {dtypes} over {axes} as on "
                f"rank 0, but for the extent of axis {axis}. Reduce over the axis that is split."
            )
    extents = [shape[axis] for shape, _, _ in facts]
    shape = (*first_shape[:axis], sum(extents), *first_shape[axis + 1 :])
    return shape, sum(extents[:rank]), axis


def _merge(
    ranks: Together,
    call: _Call,
    shape: tuple[int, ...],
    encoded: bytes,
    failure: Exception | None,
) -> tuple[bytes, str | None]:
    """Merge encoded states along a binomial tree to rank 0 and broadcast; errors travel along."""
    rank, size = ranks.rank_and_size
    message = _text(failure)
    distance = 1
    while distance < size:
        if rank % (2 * distance):
            ranks.send((encoded, message), rank - distance, _TAG)
            break
        if rank + distance < size:
            other, others_message = cast(
                "tuple[bytes, str | None]", ranks.receive(rank + distance, _TAG)
            )
            message = message or others_message
            try:
                if message is None:
                    encoded = call.reduction(shape).merge_states(encoded, other)
            except Exception as error:
                message = _text(error)
        distance *= 2
    return ranks.of_first((encoded, message))


def _text(failure: Exception | None) -> str | None:
    return None if failure is None else f"{type(failure).__name__}: {failure}"


def _raise_first(of_all: Sequence[tuple[object, str | None]], own: Exception | None) -> None:
    """Raise this rank's own failure, or what another rank reported; nothing if all is well."""
    if own is not None:
        raise own
    for other, (_, message) in enumerate(of_all):
        if message is not None:
            where = f"on rank {other}" if len(of_all) > 1 else "on another rank"
            raise InvalidArgument(f"the reduction failed {where}: {message}")
