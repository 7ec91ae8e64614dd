# SPDX-License-Identifier: Apache-2.0
"""A reduction that runs while files are read, and its result with names and coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from . import _core, labelled, ops, positions
from ._core import InvalidArgument
from .communicator import handle_of, world
from .predicates import Comparison
from .reduce import name_specs
from .series import to_bytes
from .view import View

if TYPE_CHECKING:
    from .files import File

_COUNT = "fluvial: elements that count, "


class ScanOptions(TypedDict, total=False):
    """How a scan reads and who takes part; every key has a default.

    Parameters
    ----------
    comm
        An mpi4py communicator; None: MPI.COMM_WORLD in a program of several ranks.
    local
        Of this rank alone, without a communicator.
    mode
        "collective": all ranks together read everything once. "independent": each rank reads its
        own selection, without messages.
    shuffle
        Of a collective scan, what the ranks ask for. "common": all the same. "to-one": each its own
        selection (without steps), of which all together are one result. "to-all": each its own, and
        each gets its own result.
    threads
        Of this rank; 0: the cores it may use, shared between the ranks of the host.
    aggregators
        Ranks that read (MPI-IO's cb_nodes); 0: chosen.
    buffer
        Bytes of a read (cb_buffer_size), e.g. "4 MiB"; None: chosen.
    read_ahead
        Bytes asked of the system before they are needed.
    info
        An mpi4py Info or a dict with the hints cb_nodes and cb_buffer_size.
    """

    comm: Any
    local: bool
    mode: str
    shuffle: str
    threads: int
    aggregators: int
    buffer: int | str | None
    read_ahead: int | str
    info: Any


class Work(NamedTuple):
    """One reduction, ready to run."""

    request: dict[str, Any]
    specs: Any
    operators: dict[str, Any]
    inputs: dict[str, list[int]]
    frame: labelled.Frame
    view: View
    attrs: dict[str, Any]
    """Of the file."""
    required: int | None
    """Elements that must count for a result; -1: all of them. None: no condition."""


class PendingScan:
    """A reduction under way: it reads and computes on threads of its own.

    Examples
    --------
    >>> pending = t.start("mean", over="time")                            # doctest: +SKIP
    >>> while not pending.test():                                         # doctest: +SKIP
    ...     something_else()
    >>> mean = pending.wait()                                             # doctest: +SKIP
    """

    def __init__(self, scan: _core.Scan, work: Work, comm: Any, shuffle: str) -> None:
        self._scan: _core.Scan | None = scan
        self._work = work
        self._comm = comm
        self._shuffle = shuffle
        self._result: Any = None
        self._stats: dict[str, Any] = {}
        scan.start()

    def test(self) -> bool:
        """Tell whether everything is read and computed, on all ranks. Local; does not block."""
        return self._scan is None or self._scan.test()

    @property
    def progress(self) -> float:
        """The share of its own work that this rank has done, 0 to 1."""
        return 1.0 if self._scan is None else self._scan.progress

    @property
    def stats(self) -> dict[str, int | float]:
        """Bytes read, messages, seconds; of this rank, known after `wait`."""
        return self._stats

    def wait(self) -> Any:
        """Merge what all ranks have found, and return the result. Collective, blocking.

        Raises
        ------
        Error
            On every rank what went wrong on any: a DamagedFile, for example.
        """
        if self._scan is not None:
            scan, self._scan = self._scan, None
            groups, self._stats = scan.wait()
            self._result = _labelled(_of_all_ranks(self._work, self._comm, self._shuffle), groups)
        return self._result


def begin(prepare: Any, options: ScanOptions) -> PendingScan:
    """Start what `prepare()` describes; an error in it, on any rank, is one on all. Collective."""
    options = dict(options)  # type: ignore[assignment]
    if unknown := set(options) - set(ScanOptions.__annotations__):
        raise InvalidArgument(
            f"unknown option of a reduction: got {', '.join(sorted(unknown))}; "
            f"allowed: {', '.join(sorted(ScanOptions.__annotations__))}"
        )
    comm = options.get("comm")
    comm = None if options.get("local") else world() if comm is None else comm
    handle = handle_of(comm)
    shuffle = options.get("shuffle", "common")
    work, failure = None, None
    try:
        work = prepare()
        request = _core.ScanRequest(**work.request, **_options(options))
    except Exception as error:
        failure = error
    if comm is not None and comm.Get_size() > 1:
        _agree(comm, failure)
    if failure is not None:
        raise failure
    if work is None:
        raise AssertionError("bug in Fluvial: no work and no failure")
    return PendingScan(_core.Scan(request, handle), work, comm, shuffle)


def describe(
    file: File,
    view: View,
    names: Sequence[str],
    op: Any,
    wanted: Mapping[str, Sequence[str]] | None,
    over: Any,
    skipna: bool | None,
    min_count: int | None,
    name: str | None,
) -> Work:
    """Check a reduction and describe it to the core.

    `names` are the datasets, `wanted` those of each operator (None: the first ones), and `name` is
    what a single result is called.
    """
    reduced = view.over(over)
    if view.groups is not None and view.groups.dim not in reduced:
        raise InvalidArgument(
            f"the axis of the groups is kept: got over={reduced}; allowed: '{view.groups.dim}' "
            "among them. Leave `over` out to reduce over the grouped axis alone."
        )
    datasets = list(dict.fromkeys([*names, *_compared(file, view, names)]))
    operators = operators_of(op, skipna)
    inputs = _inputs(operators, datasets, names, wanted)
    where = [
        (datasets.index(file.find(p.dataset, names[0])), p.sign, p.bound)
        if isinstance(p, Comparison)
        else (p.function, list(range(p.inputs)))
        for p in view.where
    ]
    for predicate in where:
        if len(predicate) == 2 and max(predicate[1]) >= len(names):
            raise InvalidArgument(
                f"the condition takes more arrays than there are: got {len(predicate[1])} "
                f"parameters; allowed: {len(names)}, for {', '.join(names)}"
            )
    axes = [a for a, d in enumerate(view.dims) if d in reduced or d not in view.kept]
    may_miss = bool(where) or _has_empty_group(view)
    decodings = [file.decoding(n, view.decode) for n in datasets]
    missing = may_miss or any(decoding.drops_values for decoding in decodings)
    entries = [(key, o, inputs[key]) for key, o in operators.items()]
    required = -1 if skipna is False and missing else min_count
    if required is not None:
        used = sorted({number for numbers in inputs.values() for number in numbers})
        entries += [(f"{_COUNT}{number}", ops.Count(), [number]) for number in used]
    for dataset, decoding in zip(datasets, decodings, strict=True):
        if may_miss or decoding.drops_values:
            promote(decoding, file.parts_of(dataset)[0].dtype)
    request = {
        "inputs": [
            (file.parts_of(n), decoding) for n, decoding in zip(datasets, decodings, strict=True)
        ],
        "entries": entries,
        "selection": positions.to_hyperslab(view.axes),
        "over": axes,
        "weights": [
            (view.dims.index(d), w[positions.as_array(positions.ascending(view.at(d)))].tolist())
            for d, w in view.weights.items()
        ],
        "where": where,
        "groups": None
        if view.groups is None
        else (
            view.dims.index(view.groups.dim),
            view.groups.group.tolist(),
            max(1, view.groups.labels.size),
        ),
    }
    frame = _frame(file, view, names[0], reduced, name)
    return Work(request, op, operators, inputs, frame, view, file.attrs, required)


def promote(decoding: _core.Decoding, dtype: str) -> None:
    """Let integers become float64, which has a value for "nothing": as in xarray."""
    if np.dtype(decoding.decoded(dtype)).kind in "iu":
        decoding.packed = True  # by factor 1 and offset 0


def operators_of(op: Any, skipna: bool | None) -> dict[str, Any]:
    """Return the operators by name; those given by name pass over NaN unless told otherwise."""
    named = name_specs(op)
    found = {}
    for name, spec in named.items():
        skips = skipna is not False if isinstance(spec, str) else bool(skipna)
        found[name] = ops.resolve(spec, skipna=skips)
    if not isinstance(op, Mapping) and len(found) > 1:
        given, found = list(found.values()), {}
        for operator in given:
            kind = labelled.name_of(operator)
            number = sum(key.rpartition("_")[0] == kind or key == kind for key in found)
            found[f"{kind}_{number + 1}" if number else kind] = operator
    if not found:
        raise InvalidArgument("no operator: got none; allowed: one or more, such as 'mean'")
    return found


def _inputs(
    operators: Mapping[str, Any],
    datasets: list[str],
    names: Sequence[str],
    wanted: Mapping[str, Sequence[str]] | None,
) -> dict[str, list[int]]:
    out = {}
    for key, op in operators.items():
        count = getattr(op, "inputs", 1)
        chosen = list(names[:count]) if wanted is None else list(wanted[key])
        if len(chosen) != count:
            raise InvalidArgument(
                f"'{key}' takes {count} datasets: got {len(chosen)} ({', '.join(chosen)}); "
                f"allowed: {count}. Name them: file.reduce(op, [{count} names])."
            )
        out[key] = [datasets.index(dataset) for dataset in chosen]
    return out


def _compared(file: File, view: View, names: Sequence[str]) -> list[str]:
    """Other datasets that the predicates compare; each must have the shape of the first."""
    found = []
    for predicate in view.where:
        if isinstance(predicate, Comparison):
            name = file.find(predicate.dataset, names[0])
            if file.shape_of(name) != view.shape:
                raise InvalidArgument(
                    f"'{name}' in a condition has another shape: got {file.shape_of(name)}; "
                    f"allowed: {view.shape} as '{names[0]}'. Select by coordinates with sel()."
                )
            found.append(name)
    return found


def _has_empty_group(view: View) -> bool:
    groups = view.groups
    return groups is not None and bool(
        np.any(np.bincount(groups.group[groups.group >= 0], minlength=groups.labels.size) == 0)
    )


def _options(options: ScanOptions) -> dict[str, Any]:
    info = options.get("info") or {}
    return {
        "mode": options.get("mode", "collective"),
        "shuffle": options.get("shuffle", "common"),
        "threads": int(options.get("threads", 0)),
        "aggregators": int(options.get("aggregators", 0) or info.get("cb_nodes") or 0),
        "buffer_bytes": to_bytes(options.get("buffer"), "buffer")
        or int(info.get("cb_buffer_size") or 0),
        "read_ahead_bytes": to_bytes(options.get("read_ahead", "16 MiB"), "read_ahead"),
    }


def _agree(comm: Any, failure: Exception | None) -> None:
    """Raise on this rank what failed on another. Collective: an allgather of a few bytes."""
    everybody = comm.allgather(None if failure is None else f"{type(failure).__name__}: {failure}")
    for rank, message in enumerate(everybody):
        if message is not None and failure is None:
            raise InvalidArgument(f"the reduction failed on rank {rank}: {message}")


def _frame(
    file: File, view: View, dataset: str, reduced: tuple[str, ...], name: str | None
) -> labelled.Frame:
    """Return dimensions and coordinates of the results."""
    dims, coords = [], file.coords_of(dataset, view)
    for dim in view.kept:
        if view.groups is not None and dim == view.groups.dim:
            dims.append(str(view.groups.labels.dims[0]))
        elif dim not in reduced:
            dims.append(dim)
    coords = {key: v for key, v in coords.items() if set(v.dims) <= set(dims) - set(reduced)}
    if view.groups is not None:
        coords[str(view.groups.labels.dims[0])] = view.groups.labels
    labels = {d: v for d in view.dims if (v := file.labels(dataset, d)) is not None}
    attrs = file.attributes_of(dataset)
    return labelled.Frame(name, tuple(dims), coords, reduced, view.dims, labels, attrs)


def _of_all_ranks(work: Work, comm: Any, shuffle: str) -> Work:
    """Return the work with the result's kept axes, which hold all ranks' selections."""
    if comm is None or shuffle != "to-one":
        return work
    selections = comm.allgather(work.request["selection"])
    view, frame = work.view, work.frame
    for axis, dim in enumerate(view.dims):
        if dim in frame.dims:
            chosen = [range(s[0][axis], s[0][axis] + s[1][axis]) for s in selections if all(s[1])]
            begin = min((c.start for c in chosen), default=0)
            end = max((c.stop for c in chosen), default=0)
            view = view.replace(dim, range(begin, end))
            if dim in frame.labels:
                frame.coords[dim] = frame.labels[dim][begin:end]
    return work._replace(view=view)


def _labelled(work: Work, groups: list[dict[str, dict[str, np.ndarray]]]) -> Any:
    """Return results in xarray's words: a DataArray of one operator, a Dataset of several."""
    found = {}
    several = isinstance(work.specs, Mapping) or len(work.operators) > 1
    for key, op in work.operators.items():
        arrays = _stack(work, [_propagated(work, group, key, i) for i, group in enumerate(groups)])
        arrays = {
            name: array if name.startswith("edges") else _flipped(work, array)
            for name, array in arrays.items()
        }
        frame = work.frame._replace(name=key) if several else work.frame
        found[key] = labelled.to_dataarray(op, arrays, frame)
    if not several:
        return next(iter(found.values()))
    return labelled.to_dataset(found, work.frame, work.attrs)


def _stack(work: Work, groups: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Put the arrays of all groups into one, with an axis of the groups where the dims have it."""
    labels = work.view.groups
    if labels is None:
        return groups[0]
    axis = work.frame.dims.index(str(labels.labels.dims[0]))
    groups = groups[: labels.labels.size]
    if not groups:
        raise InvalidArgument(
            f"no group has a member: got an empty selection along '{labels.dim}'; "
            "allowed: at least one label. Select more."
        )
    return {
        name: groups[0][name]
        if name.startswith("edges")
        else np.stack([group[name] for group in groups], axis=axis)
        for name in groups[0]
    }


def _propagated(
    work: Work, results: dict[str, dict[str, np.ndarray]], key: str, group: int
) -> dict[str, np.ndarray]:
    """Where too few elements counted, there is no result: xarray's skipna=False and min_count."""
    arrays = results[key]
    counting = isinstance(labelled.innermost(work.operators[key]), ops.Count)
    if work.required is None or "value" not in arrays or (counting and work.required > 0):
        return arrays
    view = work.view
    lengths: list[int] = [
        int(np.count_nonzero(view.groups.group == group))
        if view.groups is not None and view.dims[axis] == view.groups.dim
        else positions.length(view.axes[axis])
        for axis in work.request["over"]
    ]
    counts = [results[f"{_COUNT}{number}"]["value"] for number in work.inputs[key]]
    least = np.prod(lengths, dtype=np.int64) if work.required < 0 else work.required
    missing = np.any([count < least for count in counts], axis=0)
    value = arrays["value"]
    if value.shape != missing.shape:
        return arrays
    out = {**arrays, "value": np.where(missing, np.nan, value)}
    if "coordinates" in arrays:
        out["coordinates"] = np.where(missing[..., np.newaxis], -1, arrays["coordinates"])
    return out


def _flipped(work: Work, array: np.ndarray) -> np.ndarray:
    """Turn axes around that were selected with a negative step: files are read upwards."""
    if array.ndim < len(work.frame.dims):
        return array
    back = slice(None, None, -1)
    turned = tuple(
        back if dim in work.view.kept and _is_downward(work.view.at(dim)) else slice(None)
        for dim in work.frame.dims
    )
    return array[turned]


def _is_downward(at: positions.Positions) -> bool:
    return not isinstance(at, int) and at.step < 0
