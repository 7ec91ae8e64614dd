# SPDX-License-Identifier: Apache-2.0
"""A reduction of live datasets in NumPy's words: axes by number or name, results without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypedDict, TypeGuard

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.arguments import to_int, unknown_name, wrong_type
from ..compute.companions import companions
from ..compute.passes import Results, more_passes
from ..compute.registry import Reduced, Resolved, resolve
from ..compute.required_counts import Entry, counts_of, with_enough
from ..compute.specs import Inputs, Specs, name_specs, wrap_results
from ..describe.selection import Hyperslab, Over, Selection, to_hyperslab
from .dataset import Dataset


class Described(TypedDict, total=False):
    """A reduction of a live step as the core takes it."""

    datasets: list[str]
    entries: list[Entry]
    selection: Hyperslab | None
    over: list[int]
    backwards: list[int]
    """Axes that the caller counts from the end; arrays are in the order of the dataset."""
    weights: np.ndarray | None
    mask: np.ndarray | None
    by: str
    """What makes it: "itself" is the core, in place; with anything else the ranks only agree."""


class Runs(Protocol):
    """A step that runs what is described to the core."""

    def __getitem__(self, name: str) -> Dataset: ...

    def run(self, prepare: Callable[[], Described], local: bool) -> Results:
        """Run what `prepare` describes; what it raises is raised on all ranks."""


def is_array(extra: object) -> TypeGuard[npt.ArrayLike | None]:
    """Tell whether weights or a condition are an array with the extent of a selection, or none."""
    return extra is None or (
        isinstance(extra, np.ndarray | np.bool_ | list | tuple) and not hasattr(extra, "dims")
    )


def reduce_bare(
    step: Runs,
    op: Specs,
    inputs: Inputs,
    over: Over | None,
    selection: Selection,
    *,
    skipna: bool | None,
    min_count: int | None,
    weights: npt.ArrayLike | None,
    where: npt.ArrayLike | None,
    local: bool,
) -> Reduced:
    """Reduce datasets of a step; parameters are those of `ReadStep.reduce`. Collective."""
    operators: dict[str, Resolved] = {}
    described: Described = {}
    required: list[int] = []

    def prepare() -> Described:
        """Return what the core needs; what this raises is raised on all ranks."""
        named = name_specs(op)
        if not named:
            raise _core.InvalidArgument(
                "no operator: got none; allowed: one or more, such as 'mean'"
            )
        wanted = to_inputs(inputs, named)
        datasets = list(dict.fromkeys(d for names in wanted.values() for d in names))
        operators.update({n: resolve(spec, skipna=skipna) for n, spec in named.items()})
        first = step[datasets[0]]
        entries = [(n, o, [datasets.index(d) for d in wanted[n]]) for n, o in operators.items()]
        if min_count is not None:
            required.append(to_int(min_count, "min_count", 0))
            entries += counts_of(entries, required[0])
        chosen = None if selection is None else to_hyperslab(selection, first.shape)[0]
        axes = [] if over is None else first.axes(over)
        described.update(to_core(datasets, entries, chosen, axes, [], weights, where))
        return described

    results = step.run(prepare, local)

    def again(asked: Mapping[str, Resolved]) -> Results:
        entries = [(n, asked[n], i) for n, _, i in described["entries"] if n in asked]
        return step.run(lambda: {**described, "entries": entries}, local)

    # The step stays until the series goes on; all ranks get the same results.
    found = more_passes(operators, results, again)
    for least in required:
        found = dict(with_enough(described["entries"], found, least))
    return wrap_results(op, operators, found)


def to_core(
    datasets: list[str],
    entries: list[Entry],
    selection: Hyperslab | None,
    over: list[int],
    backwards: list[int],
    weights: npt.ArrayLike | None,
    where: npt.ArrayLike | None,
    by: str = "itself",
) -> Described:
    """Return a reduction as the core takes it; `by` a scan: ranks only agree on that."""
    given = where if weights is None else weights
    factors, mask = companions(weights, where, np.shape(given) if given is not None else ())
    return {
        "datasets": datasets,
        "entries": entries,
        "selection": selection,
        "over": over,
        "backwards": backwards,
        "weights": factors,
        "mask": mask,
        "by": by,
    }


def to_inputs(inputs: Inputs, operators: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the names of the datasets that each operator reads."""
    if not isinstance(inputs, Mapping):
        return dict.fromkeys(operators, _names(inputs))
    if missing := [name for name in operators if name not in inputs]:
        raise unknown_name("no such operator among the inputs", missing[0], inputs)
    return {name: _names(inputs[name]) for name in operators}


def _names(inputs: object) -> list[str]:
    names = [inputs] if isinstance(inputs, str) else inputs
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        remedy = "The operator comes first: reduce('mean', 'temperature')."
        raise wrong_type("the input", inputs, "the name of a dataset, or a list of names", remedy)
    return list(names)
