# SPDX-License-Identifier: Apache-2.0
"""Operators on NumPy arrays, serially or over the ranks of a communicator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import ops
from ._core import InvalidArgument, Reduction, Terms, check_alike, dtype_name
from .arguments import ndim_max, to_array, to_int, wrong_type
from .communicator import check_communicator
from .passes import Results, run_passes
from .selection import to_dims

Specs = ops.Spec | Sequence[ops.Spec] | Mapping[str, ops.Spec]

_TAG = 1
_ONE = (str, ops.Builtin)


def reduce(
    op: Specs,
    arrays: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    over: int | Sequence[int] | None = None,
    skipna: bool = False,
    weights: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    comm: Any = None,
) -> Any:
    """Reduce arrays that are in memory, with one operator or with several in one pass.

    Parameters
    ----------
    op
        A name such as "mean", an operator of `fluvial.ops`, a list of these, or a dict of them.
    arrays
        One array, or a list of arrays of equal shape for operators with several inputs (an operator
        takes as many as it needs, the first ones). Any strides; nothing is copied. What a masked
        array masks does not count.
    over
        Axis or axes to reduce; None: all. The others are kept. Those of an xarray.DataArray may be
        given by name.
    skipna
        For operators given by name: pass over NaN.
    weights
        Broadcast to the arrays' shape; converted to float64.
    mask
        Broadcast to the arrays' shape; elements where it is False do not count.
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
    if comm is None:
        return _local(_prepare(op, arrays, over, skipna, weights, mask))
    check_communicator(comm)
    return _collective(comm, lambda: _prepare(op, arrays, over, skipna, weights, mask))


def _local(call: _Call) -> Any:
    def run(operators: Mapping[str, Any]) -> Results:
        reduction = call.asking(operators).reduction(call.shape)
        reduction.absorb(call.arrays, None, call.weights, call.mask)
        return reduction.finish()

    return call.wrap(run_passes(call.operators, run))


class _Call(NamedTuple):
    """The arguments of reduce, checked and converted."""

    specs: Specs
    entries: list[tuple[str, Any, list[int]]]
    arrays: list[np.ndarray]
    over: list[int]
    weights: np.ndarray | None
    mask: np.ndarray | None
    frame: Any
    """Of a DataArray, whose results are labelled; else None."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape

    def reduction(self, shape: tuple[int, ...]) -> Reduction:
        return Reduction(self.entries, shape, [dtype_name(a) for a in self.arrays], self.over)

    @property
    def operators(self) -> dict[str, Any]:
        return {name: op for name, op, _ in self.entries}

    def asking(self, operators: Mapping[str, Any]) -> _Call:
        """Return the call with these operators instead of those of the same names."""
        kept = [(n, operators[n], numbers) for n, _, numbers in self.entries if n in operators]
        return self._replace(entries=kept)

    def wrap(self, results: Results) -> Any:
        if self.frame is not None:
            from . import labelled

            return labelled.to_user(self.specs, self.operators, results, self.frame)
        return wrap_results(self.specs, self.operators, results)


def name_specs(specs: Specs) -> dict[str, ops.Spec]:
    """Return the operators of a call by name; those of a list, or a lone one, are numbered."""
    # The common cases first: asking an abstract class costs more than a small reduction.
    if isinstance(specs, _ONE):
        return {"0": specs}
    if isinstance(specs, Mapping):
        return {str(name): spec for name, spec in specs.items()}
    if isinstance(specs, Sequence):
        return {str(i): spec for i, spec in enumerate(specs)}
    return {"0": specs}


def wrap_results(specs: Specs, operators: Mapping[str, Any], results: Results) -> Any:
    """Return results in the form in which `specs` was given: one, a list or a dict."""
    if isinstance(specs, _ONE):
        return ops.wrap(operators["0"], results["0"])
    wrapped = {name: ops.wrap(op, results[name]) for name, op in operators.items()}
    if isinstance(specs, Mapping):
        return wrapped
    if isinstance(specs, Sequence) and not isinstance(specs, str):
        return list(wrapped.values())
    return wrapped["0"]


def _prepare(
    specs: Specs,
    arrays: Any,
    over: int | Sequence[int] | None,
    skipna: bool,
    weights: npt.ArrayLike | None,
    mask: npt.ArrayLike | None,
) -> _Call:
    frame = None
    if type(arrays) is np.ndarray:  # all that follows takes longer than a small reduction
        views = [arrays]
    else:
        _check_order(specs, arrays)
        views, mask, frame = _as_arrays(arrays), _mask(arrays, mask), _frame(arrays, over)
    shape = views[0].shape
    for view in views:
        if view.shape != shape:
            raise InvalidArgument(
                f"the arrays differ in shape: got {view.shape}; allowed: {shape} as the first. "
                "Slice or broadcast them."
            )
    entries = []
    for name, spec in name_specs(specs).items():
        op = ops.resolve(spec, skipna=skipna)
        count = getattr(op, "inputs", 1)
        if count > len(views):
            raise InvalidArgument(
                f"too few arrays for {getattr(op, 'name', type(op).__name__)}: got {len(views)}; "
                f"allowed: {count}. Pass a list of arrays."
            )
        entries.append((name, op, list(range(count))))
    return _Call(
        specs=specs,
        entries=entries,
        arrays=views,
        over=list(range(len(shape))) if over is None else _axes(over, arrays),
        weights=_companion(weights, np.float64, shape, "weights"),
        mask=_companion(mask, np.bool_, shape, "mask"),
        frame=frame,
    )


def _check_order(specs: Any, arrays: Any) -> None:
    """Say what comes first where the operator and the array are the wrong way round."""
    is_operator = isinstance(arrays, str | ops.Operator | ops._Native)
    if is_operator and not isinstance(specs, str | ops.Operator | ops._Native):
        raise wrong_type(
            "the operator",
            specs,
            "a name such as 'mean', or an operator of fluvial.ops",
            "The operator comes first: reduce('mean', array).",
        )


def _is_several(arrays: Any) -> bool:
    return isinstance(arrays, list | tuple) and any(
        hasattr(a, "__array__") and not isinstance(a, np.generic) for a in arrays
    )


def _first(arrays: Any) -> Any:
    return arrays[0] if _is_several(arrays) else arrays


def _frame(arrays: Any, over: Any) -> Any:
    """Return what surrounds the result of a DataArray; None for an array without labels."""
    xarray = sys.modules.get("xarray")
    array = _first(arrays)
    if xarray is None or not isinstance(array, xarray.DataArray):
        return None
    from . import labelled

    dims = [str(dim) for dim in array.dims]
    return labelled.frame_of(array, dims if over is None else list(to_dims(over, dims)))


def _as_arrays(arrays: Any) -> list[np.ndarray]:
    """One array, or the list of arrays of a call; a list of numbers is one array."""
    given = arrays if _is_several(arrays) else [arrays]
    return [a if type(a) is np.ndarray else to_array(a, "the array") for a in given]


def _mask(arrays: Any, mask: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """Return the mask of a call: what a masked array leaves out does not count either."""
    for array in arrays if _is_several(arrays) else [arrays]:
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            counts = ~np.ma.getmaskarray(array)
            mask = counts if mask is None else np.logical_and(mask, counts)
    return mask


def _axes(over: Any, arrays: Any) -> list[int]:
    """Return axes by number; those of a labelled array (xarray's) may be given by name."""
    dims = getattr(_first(arrays), "dims", None)
    if isinstance(dims, tuple):
        names = [str(dim) for dim in dims]
        return [names.index(dim) for dim in to_dims(over, names)]
    one = isinstance(over, str | int) or not isinstance(over, Sequence | np.ndarray)
    axes = [
        to_int(axis, "an axis to reduce over", -ndim_max, ndim_max - 1)
        for axis in ([over] if one else over)
    ]
    if not axes:
        raise InvalidArgument(
            "no axis to reduce over: got an empty list; allowed: one or more axes. "
            "Leave `over` out to reduce over all."
        )
    return axes


def _companion(
    values: npt.ArrayLike | None, dtype: npt.DTypeLike, shape: tuple[int, ...], what: str
) -> np.ndarray | None:
    if values is None:
        return None
    array = to_array(values, what).astype(dtype, copy=False)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InvalidArgument(
            f"{what} do not fit the arrays: got shape {array.shape}; allowed: what broadcasts to "
            f"{shape}. Add axes with numpy.newaxis."
        ) from None


def _collective(comm: Any, prepare: Callable[[], _Call]) -> Any:
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
    everybody = comm.allgather((facts, _text(failure)))
    _raise_first(everybody, failure)
    if call is None:
        raise AssertionError("bug in Fluvial: no call and no failure")
    if len({number for (_, number), _ in everybody}) > 1:
        check_alike(comm.allgather(terms.encode()))
    facts_of_all = [arrays for (arrays, _), _ in everybody]
    shape, begin, axis = _concatenate(facts_of_all, comm.Get_rank())
    offset = tuple(begin if i == axis else 0 for i in range(len(shape)))

    def run(operators: Mapping[str, Any]) -> Results:
        return _one_pass(comm, call.asking(operators), shape, offset)

    # All ranks get the same results, and so go on together.
    return call.wrap(run_passes(call.operators, run))


def _one_pass(comm: Any, call: _Call, shape: tuple[int, ...], offset: tuple[int, ...]) -> Results:
    encoded, failure = b"", None
    try:
        reduction = call.reduction(shape)
        reduction.absorb(call.arrays, offset, call.weights, call.mask)
        encoded = reduction.encode()
    except Exception as error:
        failure = error
    encoded, failures = _merge(comm, call, shape, encoded, failure)
    _raise_first([(None, failures)], failure)
    total = call.reduction(shape)
    total.merge_encoded(encoded)
    return total.finish()


def _concatenate(facts: list[Any], rank: int) -> tuple[tuple[int, ...], int, int]:
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
    comm: Any, call: _Call, shape: tuple[int, ...], encoded: bytes, failure: Exception | None
) -> tuple[bytes, str | None]:
    """Merge encoded states along a binomial tree to rank 0 and broadcast; errors travel along."""
    rank, size = comm.Get_rank(), comm.Get_size()
    message = _text(failure)
    distance = 1
    while distance < size:
        if rank % (2 * distance):
            comm.send((encoded, message), dest=rank - distance, tag=_TAG)
            break
        if rank + distance < size:
            other, others_message = comm.recv(source=rank + distance, tag=_TAG)
            message = message or others_message
            try:
                if message is None:
                    both = call.reduction(shape)
                    both.merge_encoded(encoded)
                    both.merge_encoded(other)
                    encoded = both.encode()
            except Exception as error:
                message = _text(error)
        distance *= 2
    return comm.bcast((encoded, message), root=0)


def _text(failure: Exception | None) -> str | None:
    return None if failure is None else f"{type(failure).__name__}: {failure}"


def _raise_first(everybody: list[Any], own: Exception | None) -> None:
    """Raise this rank's own failure, or what another rank reported; nothing if all is well."""
    if own is not None:
        raise own
    for other, (_, message) in enumerate(everybody):
        if message is not None:
            where = f"on rank {other}" if len(everybody) > 1 else "on another rank"
            raise InvalidArgument(f"the reduction failed {where}: {message}")
