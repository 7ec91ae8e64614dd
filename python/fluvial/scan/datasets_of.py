# SPDX-License-Identifier: Apache-2.0
"""Which datasets the operators of a call read."""

from __future__ import annotations

from collections.abc import Mapping

from .._core import InvalidArgument
from ..base.arguments import to_text, wrong_type
from ..base.messages import listed, shown
from ..compute.specs import Inputs, Specs


def datasets_of(op: Specs, inputs: Inputs) -> tuple[list[str], dict[str, list[str]] | None]:
    """Return the names of all datasets, and those of each operator; None: the first ones.

    >>> datasets_of({"a": "mean", "b": "max"}, {"a": "t", "b": ["u"]})
    (['t', 'u'], {'a': ['t'], 'b': ['u']})
    """
    wanted = None
    if isinstance(inputs, Mapping):
        wanted = {key: _listed(names) for key, names in inputs.items()}
        if not isinstance(op, Mapping) or set(op) != set(wanted):
            keys = listed(op) if isinstance(op, Mapping) else shown(op)
            raise InvalidArgument(
                f"inputs and operators do not fit: got {listed(wanted)}; "
                f"allowed: a name for each operator, {keys}"
            )
    names = (
        _listed(inputs)
        if wanted is None
        else list(dict.fromkeys(name for names in wanted.values() for name in names))
    )
    if not names:
        raise InvalidArgument("no dataset: got an empty list; allowed: one or more names")
    return names, wanted


def _listed(inputs: object) -> list[str]:
    names = [inputs] if isinstance(inputs, str) else inputs
    if not isinstance(names, list | tuple):
        remedy = "The operator comes first: reduce('mean', 'temperature')."
        raise wrong_type("the input", inputs, "the name of a dataset, or a list of names", remedy)
    return [to_text(name, "the name of a dataset") for name in names]
