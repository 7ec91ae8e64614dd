# SPDX-License-Identifier: Apache-2.0
"""Loads the accessor of xarray objects when xarray is there, whichever is imported first.

Importing xarray takes half a second, which programs without files should not pay, so `fluvial` does
not import it: it waits until the program does.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # all programs import this module, and importlib.abc needs ten others
    from importlib.abc import Loader


def when_imported(module: str) -> None:
    """Import `module` now if xarray is imported already, otherwise right after it will be."""
    if "xarray" in sys.modules:
        importlib.import_module(module)
    else:
        sys.meta_path.insert(0, _Finder(module))


class _Finder:
    """Asked for xarray, it steps aside for the others and has their loader tell."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "xarray":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader, self._module))
        return spec


class _Loader:
    def __init__(self, loader: Loader, module: str) -> None:
        self._loader = loader
        self._module = module

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        importlib.import_module(self._module)
