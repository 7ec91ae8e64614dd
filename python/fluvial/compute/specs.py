# SPDX-License-Identifier: Apache-2.0
"""What a call names: one operator, a list or a dict of them, and its results in the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .._core import Builtin
from .passes import Results
from .registry import Reduced, Resolved, Spec, wrap

Specs: TypeAlias = Spec | Sequence[Spec] | Mapping[str, Spec]

Inputs: TypeAlias = str | Sequence[str] | Mapping[str, str | Sequence[str]]
"""Names of datasets: for all operators, or for each by its name."""

_ONE = (str, Builtin)


def name_specs(specs: Specs) -> dict[str, Spec]:
    """Return the operators of a call by name; those of a list, or a lone one, are numbered."""
    # The common cases first: asking an abstract class costs more than a small reduction.
    if isinstance(specs, _ONE):
        return {"0": specs}
    if isinstance(specs, Mapping):
        return {str(name): spec for name, spec in specs.items()}
    if isinstance(specs, Sequence):
        return {str(i): spec for i, spec in enumerate(specs)}
    return {"0": specs}


def wrap_results(specs: Specs, operators: Mapping[str, Resolved], results: Results) -> Reduced:
    """Return results in the form in which `specs` was given: one, a list or a dict."""
    if isinstance(specs, _ONE):
        return wrap(operators["0"], results["0"])
    wrapped = {name: wrap(op, results[name]) for name, op in operators.items()}
    if isinstance(specs, Mapping):
        return wrapped
    if isinstance(specs, Sequence) and not isinstance(specs, str):
        return list(wrapped.values())
    return wrapped["0"]
