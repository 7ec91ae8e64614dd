# SPDX-License-Identifier: Apache-2.0
"""Reading BP, the format of ADIOS2 (BP4 and BP5, which are folders), by its own library."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from ..base.messages import shown_text
from ..describe.attributes import AttributeValue
from .bp_index import check_lengths, read_index
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
MARK_OF_BOOL = "__is_boolean__"
"""Begins the name of an attribute that says of another one that it is a bool, as in openPMD-api."""


class _Variable(NamedTuple):
    """A global array or a value of a file."""

    name: str
    """As the library has it; ours has no slash in front."""
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    """One a step in which it was written."""
    single: bool


class _Attributes:
    """The attributes of a file, or of one of its steps."""

    def __init__(self, said: Mapping[str, _Said], variables: Mapping[str, object]) -> None:
        self.by_owner = _by_owner(said)
        """By the variable or group that they belong to; "" is the file."""
        self.constants = {
            owner: np.asarray(attrs["value"])
            for owner, attrs in self.by_owner.items()
            if "openPMD" in self.by_owner.get("", {})
            and owner not in variables
            and _is_constant(attrs)
        }
        """Components of openPMD with one value everywhere."""

    def of(self, owner: str) -> dict[str, _Said]:
        """Return those of an object, with what openPMD hangs on the record of a component."""
        of_record = self.by_owner.get(owner.rpartition("/")[0], {})
        shared = of_record if "unitDimension" in of_record else {}
        return {**shared, **self.by_owner.get(owner, {})}


class _Reader:
    """An open file; its library takes one call at a time."""

    def __init__(self, path: str) -> None:
        import adios2

        self.path = path
        self._lock = threading.Lock()
        self.left_out: dict[str, str] = {}
        try:
            index = read_index(path)
            self._file = adios2.FileReader(path)
            self.steps = int(self._file.num_steps())
            self.variables = self._find_variables()
            if index is not None:
                check_lengths(path, index, self._written_last())
            self.attributes = _Attributes(_attributes(self._file), self.variables)
        except Exception as error:
            raise cannot_read(path, "metadata", error) from error

    def read(
        self, name: str, step: int, steps: int, start: tuple[int, ...], count: tuple[int, ...]
    ) -> np.ndarray:
        """Return a part of a variable, with the axis of steps in front.

        Steps are counted among those that have the variable.
        """
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
            elif not name.startswith(_OF_LIBRARY):
                of_text = variable.type() == "string"
                self.left_out[name.lstrip("/")] = (
                    "text" if of_text else f"{kind} of {variable.type()}"
                )
        return found

    def _written_last(self) -> dict[int, int]:
        """Return bytes of the last step by writer, of arrays that are in each step as they are.

        At least these: of bytes the library says nothing that Python can have.
        """
        found: dict[int, int] = {}
        for known in self.variables.values():
            of_bytes = np.dtype(known.dtype).itemsize == 1
            if known.single or of_bytes or len(known.shapes) < self.steps:
                continue
            if self._file.inquire_variable(known.name).operations():
                continue  # compressed
            for block in self._file.engine.blocks_info(known.name, self.steps - 1):
                elements = np.prod([int(n) for n in block["Count"].split(",")], dtype=int)
                writer = int(block["WriterID"])
                size = int(elements) * np.dtype(known.dtype).itemsize
                found[writer] = found.get(writer, 0) + size
        return found


class _Step(NamedTuple):
    """What one step of a file has."""

    variables: Mapping[str, int]
    """How many steps before had the variable."""
    attributes: _Attributes


def open_bp(path: str) -> _core.File:
    """Open a folder of BP as one file. Local; reads metadata only.

    A variable that was written in each of several steps gets them as an axis in front. Those whose
    shape changes, or that are in some steps only, are in the steps alone: `steps_of_bp`. Attributes
    are as the last step has them.

    Raises
    ------
    DamagedFile
        The library cannot open it, or bytes are missing.
    """
    reader = _Reader(path)
    datasets, stepped = [], set()
    for name, variable in reader.variables.items():
        shapes = variable.shapes
        if len(shapes) == reader.steps > 1 and len(set(shapes)) == 1:
            stepped.add(name)
            shape = (reader.steps, *shapes[0])
            datasets.append(_described(reader, name, shape, reader.attributes, (STEP,)))
        elif len(shapes) == 1:
            datasets.append(_described(reader, name, shapes[0], reader.attributes))
    datasets += _constants(reader.attributes)

    def read(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        if name in reader.attributes.constants:
            return np.full(count, reader.attributes.constants[name])
        if name in stepped:
            return reader.read(name, start[0], count[0], start[1:], count[1:])
        return reader.read(name, 0, 1, start, count)[0]

    contents = _contents(reader, reader.attributes, reader.variables, datasets)
    return file_by_library(contents, read)


def steps_of_bp(file: _core.File) -> list[tuple[int, _core.File]]:
    """Return number and contents of each step of an open folder. Local.

    Those of openPMD are its iterations, also where each is a step of the same variables; else each
    step has what was written in it, and what was written once since that step.

    Raises
    ------
    DamagedFile
        The steps cannot be read, or two have one number.
    """
    if file.is_openpmd and file.attributes.get("iterationEncoding") != "variableBased":
        return _core.iterations_of(file)
    reader = _Reader(file.path)
    found: dict[int, _core.File] = {}
    for number, step in enumerate(_steps(reader)):
        contents = _file_of(reader, step, of_openpmd=file.is_openpmd)
        of_step = _core.iterations_of(contents) if file.is_openpmd else [(number, contents)]
        for index, iteration in of_step:
            if index in found:
                raise _core.DamagedFile(
                    f"'{shown_text(file.path)}' has iteration {index} twice: got it in step "
                    f"{number} again; allowed: each in one step. Write the file by openPMD 1.1"
                )
            found[index] = iteration
    return sorted(found.items())


def _steps(reader: _Reader) -> list[_Step]:
    """Return what each step has, by going through the file: all at once, nothing says it."""
    seen = dict.fromkeys(reader.variables, 0)
    once = {name for name, variable in reader.variables.items() if len(variable.shapes) == 1}
    found: list[_Step] = []
    try:
        for names, said in _walk(reader.path, reader.steps):
            here = {name: seen[name] for name in names if name in seen}
            for name in here:
                seen[name] += 1
            lasting = {name: 0 for name in once if seen[name] > 0}
            found.append(_Step({**lasting, **here}, _Attributes(said, here)))
    except Exception as error:
        raise cannot_read(reader.path, "steps", error) from error
    return found


def _walk(path: str, steps: int) -> Iterator[tuple[list[str], dict[str, _Said]]]:
    """Yield the names of variables, and the attributes, of each step."""
    import adios2

    file = adios2.Stream(path, "r")
    try:
        for _ in range(steps):
            if file.begin_step(timeout=0.0) != adios2.bindings.StepStatus.OK:
                return
            yield [name.lstrip("/") for name in file.available_variables()], _attributes(file)
            file.end_step()
    finally:
        file.close()


def _file_of(reader: _Reader, step: _Step, *, of_openpmd: bool) -> _core.File:
    known = reader.variables
    datasets = [
        _described(reader, name, known[name].shapes[at], step.attributes)
        for name, at in sorted(step.variables.items())
    ]
    datasets += _constants(step.attributes)
    contents = _contents(reader, step.attributes, step.variables, datasets)
    if not of_openpmd:
        times: dict[str, _Said] = {
            name: reader.read(name, step.variables[name], 1, (), ())[0].item()
            for name in ("time", "dt")
            if name in step.variables and known[name].single
        }
        contents = contents._replace(attrs={**contents.attrs, **times})
    return file_by_library(contents, functools.partial(_read_step, reader, step))


def _read_step(
    reader: _Reader, step: _Step, name: str, start: tuple[int, ...], count: tuple[int, ...]
) -> np.ndarray:
    if name in step.attributes.constants:
        return np.full(count, step.attributes.constants[name])
    return reader.read(name, step.variables[name], 1, start, count)[0]


def _contents(
    reader: _Reader,
    attributes: _Attributes,
    variables: Mapping[str, object],
    datasets: list[LibraryDataset],
) -> LibraryContents:
    groups: dict[str, Mapping[str, object]] = {
        "/".join(parts[:end]): {}
        for parts in (name.split("/") for name in variables)
        for end in range(1, len(parts))
    }
    for owner, attrs in attributes.by_owner.items():
        if owner and owner not in reader.variables and owner not in attributes.constants:
            parts = owner.split("/")
            for end in range(1, len(parts)):
                groups.setdefault("/".join(parts[:end]), {})
            groups[owner] = attrs
    attrs = attributes.by_owner.get("", {})
    in_order = dict(sorted(groups.items()))
    return LibraryContents(
        reader.path, FORMAT, attrs, in_order, datasets, STEP, left_out=reader.left_out
    )


def _described(
    reader: _Reader,
    name: str,
    shape: tuple[int, ...],
    attributes: _Attributes,
    leading: tuple[str, ...] = (),
) -> LibraryDataset:
    dims = (*leading, *("",) * (len(shape) - len(leading)))
    dtype = reader.variables[name].dtype
    return LibraryDataset(name, dtype, shape, dims, attributes.of(name), ())


def _constants(attributes: _Attributes) -> list[LibraryDataset]:
    found = []
    for name, value in attributes.constants.items():
        attrs = attributes.of(name)
        shape = tuple(int(n) for n in np.atleast_1d(np.asarray(attrs.pop("shape"))))
        dims = ("",) * len(shape)
        found.append(LibraryDataset(name, value.dtype.name, shape, dims, attrs, ()))
    return found


def _is_constant(attrs: Mapping[str, _Said]) -> bool:
    if not {"value", "shape"} <= attrs.keys():
        return False
    value, shape = np.asarray(attrs["value"]), np.asarray(attrs["shape"])
    return value.ndim == 0 and value.dtype.kind in "iufc" and shape.dtype.kind in "iu"


def _attributes(file: adios2.Stream) -> dict[str, _Said]:
    return {name: _value(file, name) for name in list(file.available_attributes())}


def _value(file: adios2.Stream, name: str) -> _Said:
    try:
        value = file.read_attribute(name)
    except ValueError:  # a long double, which the library's Python says as text alone
        said = file.available_attributes()[name]["Value"].strip("{} ")
        numbers = [float(word) for word in said.split(",")]
        return numbers if len(numbers) > 1 else numbers[0]
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _by_owner(said: Mapping[str, _Said]) -> dict[str, dict[str, _Said]]:
    """Return attributes by the variable or group that they belong to; "" is the file."""
    found: dict[str, dict[str, _Said]] = {}
    for path, value in said.items():
        if path.lstrip("/").startswith(_OF_LIBRARY):
            continue
        owner, _, name = path.strip("/").rpartition("/")
        is_bool = f"{MARK_OF_BOOL}{path}" in said and isinstance(value, int | np.integer)
        found.setdefault(owner, {})[shown_text(name)] = bool(value) if is_bool else value
    return found
