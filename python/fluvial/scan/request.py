# SPDX-License-Identifier: Apache-2.0
"""A reduction of files, checked and described to the core."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..compute.apply import Apply
from ..compute.arithmetic import Compared
from ..compute.distribution_operators import TopK
from ..compute.registry import Resolved, resolve
from ..compute.required_counts import Entry, counts_of, innermost, propagates
from ..compute.scalar_operators import ArgMin
from ..compute.specs import Specs, name_specs
from ..describe.attributes import Attributes
from ..describe.selection import Hyperslab, Over
from ..store.joined_files import JoinedFiles
from . import positions
from .array_mask import ArrayMask
from .labelled import Frame, by_kind
from .predicates import Comparison, OfLargeIntegers
from .term import TermCondition
from .view import View


class CoreRequest(TypedDict):
    """What the core is given: see `_core.ScanRequest`."""

    inputs: list[tuple[list[_core.FileDataset], _core.Decoding]]
    entries: list[Entry]
    selection: Hyperslab
    over: list[int]
    backwards: list[int]
    weights: list[tuple[int, list[float]]]
    where: list[tuple[object, ...]]
    groups: tuple[int, list[int], int] | None
    missing_is_nan: bool
    record_axis: int | None


class Request(NamedTuple):
    """One reduction, ready to run."""

    core: CoreRequest
    specs: Specs
    operators: dict[str, Resolved]
    inputs: dict[str, list[int]]
    frame: Frame
    view: View
    attrs: Attributes
    """Of the file."""
    names: list[str]
    """Of the datasets, those of conditions, too."""
    required: int | None
    """Elements that must count for a result; -1: all of them. None: no condition."""


def describe(
    files: JoinedFiles,
    view: View,
    names: Sequence[str],
    op: Specs,
    wanted: Mapping[str, Sequence[str]] | None,
    over: Over | None,
    skipna: bool | None,
    min_count: int | None,
    name: str | None,
    masked: bool = False,
) -> Request:
    """Check a reduction and describe it to the core.

    `names` are the datasets, `wanted` those of each operator (None: the first ones), `name` is what
    a single result is called, and `masked` tells whether a mask goes with it.
    """
    reduced = view.over(over)
    if view.groups is not None and view.groups.dim not in reduced:
        raise InvalidArgument(
            f"the axis of the groups is kept: got over={reduced}; allowed: '{view.groups.dim}' "
            "among them. Leave `over` out to reduce over the grouped axis alone."
        )
    datasets = list(dict.fromkeys([*names, *_compared(files, view, names)]))
    operators = operators_of(op, skipna)
    if (arithmetic := view.arithmetic) is not None:
        said = {"name": str(arithmetic), "version": "1"}
        operators = {n: Apply(arithmetic, o, inputs=1, **said) for n, o in operators.items()}
    inputs = _inputs(operators, datasets, names, wanted)
    decodings = [files.decoding(n, view.decode) for n in datasets]
    whole = {
        name
        for name, decoding in zip(datasets, decodings, strict=True)
        if decoding.decoded(files.parts_of(name)[0].dtype) in ("int64", "uint64")
    }
    masks = [predicate for predicate in view.where if isinstance(predicate, ArrayMask)]
    where = _conditions(files, view, names, datasets, whole)
    axes = [a for a, d in enumerate(view.dims) if d in reduced or d not in view.kept]
    may_miss = bool(where) or _has_empty_group(view)
    entries = [(key, o, inputs[key]) for key, o in operators.items()]
    # What is missing becomes NaN, which operators let propagate; a mask in place is counted.
    required = -1 if skipna is False and masked else min_count
    if required is not None:
        entries += counts_of(entries, required)
    for dataset, decoding in zip(datasets, decodings, strict=True):
        if may_miss or decoding.drops_values:
            promote(decoding, files.parts_of(dataset)[0].dtype)
    core: CoreRequest = {
        "inputs": [
            *((files.parts_of(n), d) for n, d in zip(datasets, decodings, strict=True)),
            *((mask.parts_like(files.parts_of(names[0])), _core.Decoding()) for mask in masks),
        ],
        "entries": entries,
        "selection": positions.to_hyperslab(view.axes),
        "over": axes,
        "backwards": [
            axis for axis, at in enumerate(view.axes) if not isinstance(at, int) and at.step < 0
        ],
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
        "missing_is_nan": skipna is False or any(map(propagates, operators.values())),
        "record_axis": None if view.record is None else view.dims.index(view.record),
    }
    frame = _frame(files, view, names[0], reduced, name, operators)
    frame.check(operators, isinstance(op, Mapping) or len(operators) != 1)
    return Request(core, op, operators, inputs, frame, view, files.attrs, datasets, required)


def masks_of(request: Request) -> list[str]:
    """Return digests of the arrays that are conditions, which all ranks must give alike."""
    return [mask.digest for mask in request.view.where if isinstance(mask, ArrayMask)]


def for_own_selections(request: Request, shuffle: str) -> None:
    """Make a request fit for ranks that each select on their own; `shuffle` says what they get."""
    if shuffle != "common" and request.view.groups is not None:
        # Whether a group is empty is another question on each rank.
        for parts, decoding in request.core["inputs"]:
            promote(decoding, parts[0].dtype)


def _conditions(
    files: JoinedFiles,
    view: View,
    names: Sequence[str],
    datasets: list[str],
    whole: Container[str],
) -> list[tuple[object, ...]]:
    """Return the predicates as the core takes them; `whole` are datasets of 64-bit integers."""
    where: list[tuple[object, ...]] = []
    inputs_of_masks = itertools.count(len(datasets))
    for predicate in view.where:
        if isinstance(predicate, ArrayMask):
            where.append((next(inputs_of_masks), "!=", 0.0))
        elif isinstance(predicate, Comparison):
            compared = datasets.index(files.find(predicate.dataset, names[0]))
            where.append((compared, predicate.sign, predicate.bound))
        elif predicate.inputs > len(names):
            raise InvalidArgument(
                f"the condition takes more arrays than there are: got {predicate.inputs} "
                f"parameters; allowed: {len(names)}, for {', '.join(names)}"
            )
        else:
            inputs = range(predicate.inputs)
            function = predicate.function
            own = isinstance(function, TermCondition | Compared)  # bounds of these were looked at
            if not own and any(names[i] in whole for i in inputs):
                function = OfLargeIntegers(function, [i for i in inputs if names[i] in whole])
            where.append((function, list(inputs)))
    return where


def promote(decoding: _core.Decoding, dtype: str) -> None:
    """Let integers become float64, which has a value for "nothing": as in xarray."""
    if np.dtype(decoding.decoded(dtype)).kind in "iu":
        decoding.packed = True  # by factor 1 and offset 0


def operators_of(op: Specs, skipna: bool | None) -> dict[str, Resolved]:
    """Return the operators by name; several are called after their kinds."""
    found = {name: resolve(spec, skipna=skipna) for name, spec in name_specs(op).items()}
    if not isinstance(op, Mapping) and len(found) > 1:
        found = by_kind(list(found.values()))
    if not found:
        raise InvalidArgument("no operator: got none; allowed: one or more, such as 'mean'")
    return found


def _inputs(
    operators: Mapping[str, Resolved],
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
    used = max(len(numbers) for numbers in out.values())
    if wanted is None and len(names) > used:
        key = next(iter(out))
        ops = {f"{dataset}_{key}": key for dataset in names}
        own = {f"{dataset}_{key}": dataset for dataset in names}
        raise InvalidArgument(
            f"no operator reads '{names[used]}': got {len(names)} datasets; allowed: {used}, as "
            f"many as the operators take. Give each dataset its own operator: reduce({ops}, {own})."
        )
    return out


def _compared(files: JoinedFiles, view: View, names: Sequence[str]) -> list[str]:
    """Other datasets that the predicates compare; each must have the shape of the first."""
    found = []
    for predicate in view.where:
        if isinstance(predicate, Comparison):
            name = files.find(predicate.dataset, names[0])
            if files.shape_of(name) != view.shape:
                raise InvalidArgument(
                    f"'{name}' in a condition has another shape: got {files.shape_of(name)}; "
                    f"allowed: {view.shape} as '{names[0]}'. Select by coordinates with sel()."
                )
            predicate.check_exact(files.decoded_dtype(name, view.decode))
            found.append(name)
    return found


def _has_empty_group(view: View) -> bool:
    groups = view.groups
    return groups is not None and bool(
        np.any(np.bincount(groups.group[groups.group >= 0], minlength=groups.labels.size) == 0)
    )


def _unseen(
    files: JoinedFiles,
    dataset: str,
    reduced: tuple[str, ...],
    operators: Mapping[str, Resolved],
) -> tuple[str, ...]:
    """Return dimensions whose coordinates no result has.

    Those that are reduced, unless an operator tells where along them something lies. Of several
    files all coordinates but the joined one are read, to see that they agree.
    """
    if any(isinstance(innermost(o), ArgMin | TopK) for o in operators.values()):
        return ()
    if (along := files.joined_dimension) is None:
        return reduced
    axis = files.axis_of(dataset, along)
    return tuple(d for d in reduced if axis is not None and d == files.dims_of(dataset)[axis])


def _frame(
    files: JoinedFiles,
    view: View,
    dataset: str,
    reduced: tuple[str, ...],
    name: str | None,
    operators: Mapping[str, Resolved],
) -> Frame:
    """Return dimensions and coordinates of the results."""
    unseen = _unseen(files, dataset, reduced, operators)
    dims, coords = [], view.of(files.coordinates(dataset, view.dims, unseen))
    for dim in view.kept:
        if view.groups is not None and dim == view.groups.dim:
            dims.append(str(view.groups.labels.dims[0]))
        elif dim not in reduced:
            dims.append(dim)
    coords = {key: v for key, v in coords.items() if set(v.dims) <= set(dims) - set(reduced)}
    if view.groups is not None:
        coords[str(view.groups.labels.dims[0])] = view.groups.labels
    seen = [d for d in view.dims if d not in unseen]
    labels = {d: v for d in seen if (v := files.labels(dataset, d)) is not None}
    attrs = files.attributes_of(dataset)
    return Frame(name, tuple(dims), coords, reduced, view.dims, labels, attrs)
