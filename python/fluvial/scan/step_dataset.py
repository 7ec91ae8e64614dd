# SPDX-License-Identifier: Apache-2.0
"""A dataset of a live step in the language of files: by name and coordinate, with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, Unpack, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_array, to_bool
from ..compute.companions import Companions, companions
from ..compute.passes import Results, more_passes
from ..compute.registry import Reduced, Resolved
from ..compute.specs import Inputs, Specs
from ..describe.selection import Over, Selection, one_of
from ..describe.storage_attributes import plain_attributes, says_decoding
from ..stage.bare_reduction import Described, is_array, to_core
from ..stage.reader import ReadStep
from ..store.joined_files import JoinedFiles
from . import pending_scan, positions, request
from .axis_weights import Weights
from .comparisons import JointRequest
from .datasets_of import datasets_of
from .decoded import as_selected
from .file_dataset import FileDataset
from .kept_attributes import with_attrs
from .options import ScanOptions
from .predicates import Condition
from .result import label
from .view import View

_Describe = Callable[[Condition | None, Weights | None, bool], tuple[request.Request, list[str]]]
"""Makes the request of conditions, weights of axes and whether there is a mask, and gives the names
of its datasets."""


class StepFile(JoinedFiles):
    """The datasets of a step as those of a file."""

    def __init__(self, step: ReadStep) -> None:
        name = f"step {step.index} of {step.series.name!r}"
        super().__init__([_core.step_as_file(step._core, name)], decode=True)
        self.step = step

    def __reduce__(self) -> NoReturn:
        raise InvalidArgument(
            f"a dataset of a live step cannot be pickled: got one of {self.path}; allowed: arrays. "
            "Read it first: dataset.read()."
        )


class StepDataset(FileDataset):
    """A dataset of a live step after what selects, masks and weights; lazy, immutable.

    Everything is as of a `FileDataset`, whose methods it has, until the step ends. What only
    selects is read and reduced in place, in the writer's memory. Conditions, groups, weights of
    axes, and values that attributes declare missing or packed, take a scan, which copies elements
    into its buffers, some MiB a thread.

    Examples
    --------
    >>> step["meshes/T"].sel(x=slice(0, 2.5)).where("value > 0").mean("y")  # doctest: +SKIP
    """

    _files: StepFile

    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | npt.ArrayLike | None = None,
        where: Condition | npt.ArrayLike | None = None,
        axis: Over | None = None,
        dim: Over | None = None,
        keep_attrs: bool | None = None,
        **options: Unpack[ScanOptions],
    ) -> Reduced:
        """Reduce where the data lies; the result is on all ranks.

        As `FileDataset.reduce`. Collective over the series' communicator unless ``local=True``.
        `weights` and `where` may also be arrays with the extent of what is selected.
        """
        axes = one_of(over, axis, dim)

        def described(
            conditions: Condition | None, factors: Weights | None, masked: bool
        ) -> tuple[request.Request, list[str]]:
            chosen = self._selected(selection, factors, conditions)
            name = self._name.rpartition("/")[2]
            made = request.describe(
                *(chosen._files, chosen._view, [self._name], op, None, axes, skipna, min_count),
                *(name, masked),
            )
            return made, [self._name]

        asked: ScanOptions = {**self._taking_part(), **options}
        found = _reduce(self._files, described, where, weights, asked)
        return with_attrs(found, plain_attributes(self.attrs), keep_attrs)

    def _reduced_together(self, describe: JointRequest, options: ScanOptions) -> Reduced:
        def described(*_: object) -> tuple[request.Request, list[str]]:
            made = self._described_together(describe)
            return made, made.names

        return _reduce(self._files, described, None, None, {**self._taking_part(), **options})

    def _taking_part(self) -> ScanOptions:
        comm = self._comm
        return {"local": True} if comm is None else {"comm": comm}

    def _values(self, view: View) -> np.ndarray:
        """Return the selected elements, without a copy where nothing is decoded or masked."""
        if view.where or says_decoding(self._files.attributes_of(self._name)):
            return super()._values(view)
        staged = self._files.step._core.dataset(self._name)
        values = staged.read(positions.to_hyperslab(view.axes))[as_selected(view)]
        return values if view.arithmetic is None else np.asarray(view.arithmetic(values))


class StepViews:
    """The datasets of a step by name and coordinate."""

    def __init__(self, step: ReadStep) -> None:
        self._files = StepFile(step)

    def dataset(self, name: str) -> StepDataset:
        """Return the dataset of this name."""
        files = self._files
        view = View.whole(files.dims_of(name), files.shape_of(name), files.decode)
        return StepDataset(files, name, view, files.step.series.comm)

    def reduce(
        self,
        op: Specs,
        inputs: Inputs,
        over: Over | None,
        selection: Selection,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | npt.ArrayLike | None = None,
        where: Condition | npt.ArrayLike | None = None,
        keep_attrs: bool | None = None,
        **options: object,
    ) -> Reduced:
        """Reduce several datasets, as `ReadStep.reduce`. Collective.

        With `keep_attrs` results have the attributes of the first dataset.
        """

        def described(
            conditions: Condition | None, factors: Weights | None, masked: bool
        ) -> tuple[request.Request, list[str]]:
            names, wanted = datasets_of(op, inputs)
            chosen = self.dataset(names[0])._selected(selection, factors, conditions)
            name = names[0].rpartition("/")[2] if len(names) == 1 else None
            made = request.describe(
                *(self._files, chosen._view, names, op, wanted, over, skipna, min_count),
                *(name, masked),
            )
            return made, names

        comm = self._files.step.series.comm
        taking_part: ScanOptions = {"local": True} if comm is None else {"comm": comm}
        asked = cast(ScanOptions, {**taking_part, **options})
        found = _reduce(self._files, described, where, weights, asked)
        if keep_attrs is None:
            return found
        first = datasets_of(op, inputs)[0][0]
        return with_attrs(found, plain_attributes(self.dataset(first).attrs), keep_attrs)


def _reduce(
    files: StepFile,
    described: _Describe,
    where: Condition | npt.ArrayLike | None,
    weights: Weights | npt.ArrayLike | None,
    options: ScanOptions,
) -> Reduced:
    """Reduce in place, or by a scan where that is needed. Collective.

    Ranks agree on what `described` makes first, whatever comes then, so that one which differs, or
    fails, leaves no other waiting.
    """
    step, local = files.step, to_bool(options.get("local", False), "local")
    mask = where if is_array(where) else None
    array = weights if is_array(weights) else None
    # What is no array is of the other kind, which types do not see.
    conditions = None if mask is not None else cast("Condition | None", where)
    factors = None if array is not None else cast("Weights | None", weights)
    made: list[request.Request] = []
    core: Described = {}

    def prepare() -> Described:
        found, names = described(conditions, factors, mask is not None)
        by = _made_by(files, found, options)
        extras = Companions(None, None)
        if by == "itself":
            extras = _companions(array, mask, found.view)
        else:
            _refuse_weights(array)
            if mask is not None and conditions is None:  # a condition, as those of files
                found, names = described(_as_condition(mask, found.view), factors, False)
        made.append(found)
        known = [*names, *(n for n in found.names if n not in names)]
        selection = found.core["selection"]
        own = options.get("shuffle", "common") != "common" or by == "independent scan"
        core.update(
            to_core(
                *(known, found.core["entries"], None if own else selection, found.core["over"]),
                *(found.core["backwards"], *extras, by),
            )
        )
        return core

    results = step.run(prepare, local)
    if core["by"] != "itself":
        return pending_scan.begin(lambda: made[0], options).wait()

    def again(asked: Mapping[str, Resolved]) -> Results:
        entries = [(n, asked[n], i) for n, _, i in core["entries"] if n in asked]
        return step.run(lambda: {**core, "entries": entries}, local)

    found = more_passes(made[0].operators, results, again)
    return label(made[0], [{name: dict(arrays) for name, arrays in found.items()}])


def _refuse_weights(weights: object) -> None:
    if weights is not None:
        raise InvalidArgument(
            "an array of weights does not go with conditions, groups, values to decode or options "
            "of scans: got both; allowed: one kind. Give weights as a dict of dimensions to "
            "arrays, or an array of bool as `where`."
        )


def _as_condition(mask: npt.ArrayLike, view: View) -> np.ndarray:
    """Return an array of bool, with the shape of what is selected, without other axes."""
    given = mask if isinstance(mask, np.ndarray) else to_array(mask, "mask")
    kept = tuple(positions.length(at) for at in view.axes if not isinstance(at, int))
    whole = tuple(map(positions.length, view.axes))
    return np.ma.reshape(given, kept if given.shape == whole else given.shape).astype(bool)


def _made_by(files: StepFile, found: request.Request, options: ScanOptions) -> str:
    """Tell whether a reduction takes more than the core does in place."""
    if options.get("mode") == "independent":
        return "independent scan"
    view = found.view
    decodes = any(says_decoding(files.attributes_of(name)) for name in found.names)
    asked = bool(view.where or view.weights or view.groups)
    return "scan" if asked or decodes or not options.keys() <= {"comm", "local"} else "itself"


def _companions(
    weights: npt.ArrayLike | None, mask: npt.ArrayLike | None, view: View
) -> Companions:
    """Return arrays of the selection's shape, with the axes that were selected by an int or not.

    In the order of the dataset, also along axes that are selected backwards.
    """
    whole = tuple(1 if isinstance(at, int) else positions.length(at) for at in view.axes)
    kept = tuple(positions.length(at) for at in view.axes if not isinstance(at, int))
    upwards = tuple(
        slice(None, None, 1 if isinstance(at, int) or at.step > 0 else -1) for at in view.axes
    )
    found: list[np.ndarray | None] = []
    for what, array in (("weights", weights), ("where", mask)):
        if array is not None and np.shape(array) not in (kept, whole):
            raise InvalidArgument(
                f"{what} does not fit the selection: got shape {np.shape(array)}; allowed: {kept}. "
                "An array of one axis is said with its name: {'lat': array}."
            )
        shaped = None if array is None else np.ma.reshape(array, whole)[upwards]
        found.append(shaped if shaped is None or np.ma.is_masked(shaped) else np.asarray(shaped))
    factors, mask = found
    return companions(factors, mask, whole)
