# SPDX-License-Identifier: Apache-2.0
"""Leaf functions in Python, as ranks of a pool call them."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import re
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, TypeAlias

from ..flow.interrupting import calls_users
from ..flow.parallel import parallel

if TYPE_CHECKING:
    from mpi4py import MPI

_Names = tuple[list[str], list[str]]
_Arguments: TypeAlias = tuple[str, str, str, str, str | None, _Names, list[object], list[str]]
"""Of `_call`, behind the communicator."""


@calls_users
def call_python(*arguments: *_Arguments) -> object:
    """Call a serial function; see `_call`."""
    return _call(None, *arguments)


@parallel
def call_python_together(comm: MPI.Comm, *arguments: *_Arguments) -> object:
    """Call a parallel function on each rank of a team; see `_call`."""
    return _call(comm, *arguments)


@calls_users
def _call(
    comm: MPI.Comm | None,
    folder: str,
    package: str,
    version: str,
    function: str,
    template: str | None,
    names: _Names,
    values: list[object],
    paths: list[str],
) -> object:
    """Call a function of a module, or execute a template in the module's names.

    `paths` are those of output files: they stand behind the inputs. A parallel leaf gets its
    communicator before all others, in a template as `comm`.
    """
    module = _module(folder, package, version)
    if template is None:
        called = _function(module, function)
        return called(*([] if comm is None else [comm]), *values, *paths)
    inputs, outputs = names
    scope = {**vars(module), **dict(zip(inputs, values, strict=True)), "comm": comm}
    scope |= dict(zip(outputs[len(outputs) - len(paths) :], paths, strict=False))
    exec(_compiled(template), scope)
    results = [scope[name] for name in outputs]
    return results[0] if len(results) == 1 else tuple(results)


@functools.cache
def _module(folder: str, package: str, version: str) -> ModuleType:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(package)
    if wanted := _numbers(version):  # scripts give "0.0" where any will do
        has = _version_of(module)
        if has is None:
            raise ImportError(
                f"module {package!r} does not say which version it is: got no __version__; "
                f'allowed: {version} or later. Give it one, or ask for no version ("")'
            )
        if _numbers(has) < wanted:
            raise ImportError(f"module {package!r} has version {has}; allowed: {version} or later")
    return module


def _version_of(module: ModuleType) -> str | None:
    """Return its own version, that of its package, or of the distribution that installed it."""
    top = module.__name__.partition(".")[0]
    for one in (module, sys.modules[top]):
        if (version := getattr(one, "__version__", None)) is not None:
            return str(version)
    try:
        return importlib.metadata.version(
            next(iter(importlib.metadata.packages_distributions().get(top, ())), top)
        )
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> list[int]:
    """Return them without zeros at the end: 1.0 is as new as 1."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _function(module: ModuleType, name: str) -> Callable[..., object]:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise AttributeError(f"module {module.__name__!r} has no function {name!r}")
    return found


@functools.cache
def _compiled(template: str) -> CodeType:
    code = re.sub(r"<<(\w+)>>", r"\1", template)
    return compile(code, "the template of a leaf", "exec")
