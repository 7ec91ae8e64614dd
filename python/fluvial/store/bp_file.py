# SPDX-License-Identifier: Apache-2.0
"""Reading BP, the format of ADIOS2 (BP4 and BP5, which are folders), by its own library."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from ..base.messages import shown_text
from ..describe.attributes import AttributeValue
from .file_by_library import LibraryContents, LibraryDataset, cannot_read, file_by_library

if TYPE_CHECKING:
    import adios2

_Said = AttributeValue | np.ndarray
"""An attribute as the library gives it."""

FORMAT = "ADIOS2 BP"
STEP = "step"
"""The axis of a variable that has a value in each step."""
_DTYPES = {
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"float": "float32", "double": "float64", "char": "int8"},
    **{"float complex": "complex64", "double complex": "complex128"},
}
_OF_LIBRARY = "__"  # begins names of what openPMD-api notes for itself


class _Variable(NamedTuple):
    """A global array or a value of a file."""

    name: str
    """As the library has it; ours has no slash in front."""
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    """One a step in which it was written."""
    single: bool


class _Reader:
    """An open file; its library takes one call at a time."""

    def __init__(self, path: str) -> None:
        import adios2

        self.path = path
        self._lock = threading.Lock()
        try:
            self._file = adios2.FileReader(path)
            self.steps = int(self._file.num_steps())
            self.variables = self._find_variables()
            names = list(self._file.available_attributes())
            said = {name: _value(self._file, name) for name in names}
        except Exception as error:
            raise cannot_read(path, "metadata", error) from error
        self.attributes = _by_owner(said)
        self.constants = {
            owner: np.asarray(attrs["value"])
            for owner, attrs in self.attributes.items()
            if {"value", "shape"} <= attrs.keys() and owner not in self.variables
        }
        """Components of openPMD with one value everywhere."""

    def read(
        self, name: str, step: int, steps: int, start: tuple[int, ...], count: tuple[int, ...]
    ) -> np.ndarray:
        """Return a part of a variable in `steps` steps, with the axis of steps in front."""
        if name in self.constants:
            return np.full((steps, *count), self.constants[name])
        from adios2 import bindings

        known = self.variables[name]
        found = np.zeros((steps, *count), known.dtype)  # where no block lies
        with self._lock:
            variable = self._file.inquire_variable(known.name)
            if not known.single:
                variable.set_selection([list(start), list(count)])
            variable.set_step_selection([step, steps])
            # Not by its read(), which lacks a word for complex64.
            self._file.engine.get(variable, found, bindings.Mode.Sync)
        return found

    def _find_variables(self) -> dict[str, _Variable]:
        found = {}
        for name in self._file.available_variables():
            variable = self._file.inquire_variable(name)
            kind = str(variable.shape_id()).rpartition(".")[2]
            if variable.type() in _DTYPES and kind in ("GlobalArray", "GlobalValue"):
                shapes = tuple(tuple(variable.shape(step)) for step in range(variable.steps()))
                dtype = _DTYPES[variable.type()]
                found[name.lstrip("/")] = _Variable(name, dtype, shapes, kind == "GlobalValue")
        return found


def open_bp(path: str) -> _core.File:
    """Open a folder of BP as one file. Local; reads metadata only.

    A variable that was written in each of several steps gets them as an axis in front. Those whose
    shape changes, or that are in some steps only, are in the steps alone: `steps_of_bp`.

    Raises
    ------
    DamagedFile
        The library cannot open it.
    """
    reader = _Reader(path)
    datasets, stepped = [], set()
    for name, variable in reader.variables.items():
        shapes = variable.shapes
        if len(shapes) == reader.steps > 1 and len(set(shapes)) == 1:
            stepped.add(name)
            datasets.append(_described(reader, name, (reader.steps, *shapes[0]), (STEP,)))
        elif len(shapes) == 1:
            datasets.append(_described(reader, name, shapes[0], ()))
    for name, value in reader.constants.items():
        attrs = dict(reader.attributes[name])
        shape = tuple(int(n) for n in np.atleast_1d(attrs.pop("shape")))
        attrs = _with_record(reader, name, attrs)
        kind = value.dtype.name
        datasets.append(LibraryDataset(name, kind, shape, ("",) * len(shape), attrs, ()))

    def read(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        if name in stepped:
            return reader.read(name, start[0], count[0], start[1:], count[1:])
        return reader.read(name, 0, 1, start, count)[0]

    return file_by_library(_contents(reader, datasets, {}), read)


def steps_of_bp(path: str) -> list[tuple[int, _core.File]]:
    """Return number and contents of each step of a folder that is not openPMD. Local.

    What was written once is in all of them. A variable that is in some steps only is left out: the
    library does not say in which.
    """
    reader = _Reader(path)
    times: dict[str, np.ndarray] = {
        name: reader.read(name, 0, reader.steps, (), ())
        for name in ("time", "dt")
        if name in reader.variables and reader.variables[name].shapes == ((),) * reader.steps
    }
    found = []
    for step in range(reader.steps):
        datasets = [
            _described(reader, name, v.shapes[step if len(v.shapes) > 1 else 0], ())
            for name, v in reader.variables.items()
            if len(v.shapes) in (1, reader.steps)
        ]
        said: dict[str, _Said] = {name: values[step].item() for name, values in times.items()}
        read = functools.partial(_read_step, reader, step)
        found.append((step, file_by_library(_contents(reader, datasets, said), read)))
    return found


def _read_step(
    reader: _Reader, step: int, name: str, start: tuple[int, ...], count: tuple[int, ...]
) -> np.ndarray:
    once = len(reader.variables[name].shapes) == 1
    return reader.read(name, 0 if once else step, 1, start, count)[0]


def _contents(
    reader: _Reader, datasets: list[LibraryDataset], said: Mapping[str, _Said]
) -> LibraryContents:
    groups: dict[str, Mapping[str, object]] = {
        "/".join(parts[:end]): {}
        for parts in (name.split("/") for name in reader.variables)
        for end in range(1, len(parts))
    }
    for owner, attrs in reader.attributes.items():
        if owner and owner not in reader.variables and owner not in reader.constants:
            parts = owner.split("/")
            for end in range(1, len(parts)):
                groups.setdefault("/".join(parts[:end]), {})
            groups[owner] = attrs
    attrs = {**reader.attributes.get("", {}), **said}
    in_order = dict(sorted(groups.items()))
    return LibraryContents(reader.path, FORMAT, attrs, in_order, datasets, STEP)


def _described(
    reader: _Reader, name: str, shape: tuple[int, ...], leading: tuple[str, ...]
) -> LibraryDataset:
    dims = (*leading, *("",) * (len(shape) - len(leading)))
    attrs = _with_record(reader, name, reader.attributes.get(name, {}))
    return LibraryDataset(name, reader.variables[name].dtype, shape, dims, attrs, ())


def _with_record(reader: _Reader, name: str, attrs: Mapping[str, _Said]) -> dict[str, _Said]:
    """Add what openPMD hangs on the record because all of its components share it."""
    of_record = reader.attributes.get(name.rpartition("/")[0], {})
    return {**(of_record if "unitDimension" in of_record else {}), **attrs}


def _value(file: adios2.FileReader, name: str) -> _Said:
    value = file.read_attribute(name)
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _by_owner(said: Mapping[str, _Said]) -> dict[str, dict[str, _Said]]:
    """Return attributes by the variable or group that they belong to; "" is the file."""
    found: dict[str, dict[str, _Said]] = {}
    for path, value in said.items():
        if path.lstrip("/").startswith(_OF_LIBRARY):
            continue
        owner, _, name = path.strip("/").rpartition("/")
        found.setdefault(owner, {})[shown_text(name)] = value
    return found
