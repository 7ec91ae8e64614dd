# SPDX-License-Identifier: Apache-2.0
"""Every public call that takes arguments, by name: what the table of wrong calls has to have."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from types import ModuleType

import numpy as np
import xarray as xr
from fluvial.flow.future import Future
from fluvial.flow.task import Task
from fluvial.flow.timeline import Timeline
from fluvial.opening_choice import OPTIONS_OF

import fluvial as fl

RETURNED: dict[str, type] = {
    "DataArray.fluvial": type(xr.DataArray(np.zeros(1)).fluvial),
    "Dataset.fluvial": type(xr.Dataset().fluvial),
    "Future": Future,
    "Task": Task,
    "Timeline": Timeline,
}
"""Classes that no module has as a name for users, whose objects calls return."""

_BY_REDUCTIONS = "reductions call it with what they have made"
_BY_POOLS = "pools call it with what they know"
_OF_RANKS = "takes several ranks: tests/one_job/test_wrong_sends.py"
LEFT_OUT = {
    "ops.Operator.*": "programs write these",
    "ops.*.wrap": _BY_REDUCTIONS,
    "ops.*.next_pass": _BY_REDUCTIONS,
    "ReadStep.run": _BY_REDUCTIONS,
    "FileWriteSeries.attributes_of": "steps call it with what they have checked",
    "FileWriteSeries.write": "steps call it with what they have checked",
    "Future.settle": _BY_POOLS,
    "Future.add_done_callback": "says as late as Python's that a thing cannot be called",
    "Timeline.of": _BY_POOLS,
    "Timeline.told": _BY_POOLS,
    "TaskLibrary": "takes a library that is built: test_flow_libraries.py",
    "route.send": _OF_RANKS,
    "route.recv": _OF_RANKS,
    "route.forward": _OF_RANKS,
}
"""Patterns of calls that the table need not have, with the reason."""

_MADE_BY_USERS = "Parameters\n"
"""In the text of a class that programs make objects of; the others are what calls return."""


def missing(tried: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the public calls and parameters that were not tried, and are not left out.

    A method that classes share is one call, whichever of them it is called of.
    """
    known = public_calls()
    said: dict[int, set[str]] = {}
    for name, parameters in tried.items():
        if name in known:
            said.setdefault(id(known[name]), set()).update(parameters)
    found: list[str] = []
    for name, call in known.items():
        if any(fnmatchcase(name, pattern) for pattern in LEFT_OUT):
            continue
        if id(call) not in said:
            found.append(name)
            continue
        untried = parameters_of(call) - said[id(call)]
        found += [f"{name}({parameter})" for parameter in sorted(untried)]
    return found


def needless() -> list[str]:
    """Return the patterns of `LEFT_OUT` that stand for no call."""
    return [one for one in LEFT_OUT if not any(fnmatchcase(name, one) for name in public_calls())]


def public_calls() -> dict[str, object]:
    """Return what each name stands for."""
    found: dict[str, object] = {}
    for name in dir(fl):
        thing = getattr(fl, name)
        if isinstance(thing, ModuleType):
            for inner in dir(thing):
                found |= dict(_calls_of(f"{name}.{inner}", getattr(thing, inner)))
        else:
            found |= dict(_calls_of(name, thing))
    for name, kind in RETURNED.items():
        found |= dict(_calls_of(name, kind))
    return found


def _calls_of(name: str, thing: object) -> Iterator[tuple[str, object]]:
    if not inspect.isclass(thing):
        if callable(thing) and _takes_arguments(thing):
            yield name, thing
        return
    if issubclass(thing, BaseException):
        return
    own = [kind for kind in thing.__mro__ if kind.__module__.startswith(fl.__name__)]
    if name not in RETURNED and any(_MADE_BY_USERS in (kind.__doc__ or "") for kind in own):
        yield name, thing
    for method in dir(thing):
        owner = next(kind for kind in thing.__mro__ if method in vars(kind))
        if not method.startswith("_") and owner in own and _takes_arguments(getattr(thing, method)):
            yield f"{name}.{method}", vars(owner)[method]


def _takes_arguments(called: object) -> bool:
    if not callable(called) or inspect.isclass(called):
        return False
    try:
        return bool(set(inspect.signature(called).parameters) - {"self"})
    except ValueError:  # of the core, whose text begins with the signature
        return "(self)" not in (called.__doc__ or "").partition("\n")[0]


def parameters_of(call: object) -> set[str]:
    """Return the names of those that a call has one by one; those of the core are not known."""
    if call is fl.open:
        return set().union(*OPTIONS_OF.values())
    call = call.__func__ if isinstance(call, classmethod | staticmethod) else call
    try:
        parameters = inspect.signature(call).parameters.values()  # type: ignore[arg-type]
    except ValueError:
        return set()
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {
        one.name
        for one in parameters
        if one.kind not in several and one.name not in ("self", "cls") and one.name[0] != "_"
    }
