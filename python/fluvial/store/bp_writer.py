# SPDX-License-Identifier: Apache-2.0
"""Writing steps into a folder of BP5 by ADIOS2, from one process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..describe.attributes import array_of
from .bp_file import MARK_OF_BOOL
from .openpmd_layout import StepLayout
from .output_file import cannot_write
from .step_contents import Parts

if TYPE_CHECKING:
    import adios2


class SaidOfStep(NamedTuple):
    """What one process says for all beside the elements of a step."""

    of_series: Mapping[str, object]
    """Attributes, said with the first step alone."""
    layout: StepLayout


class StepOfProcess(NamedTuple):
    """What one process writes of a step."""

    number: int
    shapes: Mapping[str, tuple[int, ...]]
    """Of whole datasets."""
    parts: Mapping[str, Parts]
    said: SaidOfStep | None
    """None: another process says it."""


class BpWriter:
    """A folder that one process writes; a step is there once it was written.

    Raises
    ------
    SystemError
        It cannot be made, or a step cannot be written; the library takes none after that.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: adios2.Stream | None = None
        self._failed: Exception | None = None

    def check(self) -> None:
        """Raise what an earlier step has failed by."""
        if self._failed is not None:
            raise self._failed

    def begin(self, of_series: Mapping[str, object]) -> None:
        """Make the folder with the attributes of the series."""
        try:
            self._begin_stream(of_series)
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot_write(self._path, _reason(error)) from error

    def write(self, step: StepOfProcess) -> None:
        """Write a step."""
        self.check()
        base = f"/data/{step.number}"
        try:
            stream = self._begin_stream({} if step.said is None else step.said.of_series)
            stream.begin_step()
            if step.said is not None:
                _write_said(stream, base, step.said.layout)
            for name, shape in step.shapes.items():
                _write_parts(stream, f"{base}/{name}", shape, step.parts.get(name, ()))
            stream.end_step()
        except (OSError, RuntimeError, ValueError) as error:
            self._stream = None  # whose close() after an error makes it end the process
            self._failed = cannot_write(self._path, _reason(error))
            raise self._failed from error

    def _begin_stream(self, of_series: Mapping[str, object]) -> adios2.Stream:
        if self._stream is None:
            self._stream = _new_stream(self._path)
            _write_attributes(self._stream, "", of_series)
        return self._stream

    def close(self) -> None:
        """Close the folder. Idempotent."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            stream.close()
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot_write(self._path, _reason(error)) from error

    def leave(self) -> None:
        """Forget the folder, which may be gone already: nothing more is written there."""
        self._stream = None


def _new_stream(path: str) -> adios2.Stream:
    import adios2

    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK):
        raise OSError(f"no folder {folder} that can be written to")
    io = adios2.Adios().declare_io("fluvial")
    io.set_engine("BP5")
    io.set_parameters({"Profile": "Off"})
    return adios2.Stream(io, path, "w")


def _reason(error: OSError | RuntimeError | ValueError) -> OSError | RuntimeError:
    """Return what the library says without its colours, its time and its own places.

    >>> _reason(RuntimeError("[date] [ADIOS2 EXCEPTION] <A> <B> : no x : errno = 28: No space"))
    OSError(28, 'No space left on device')
    """
    if isinstance(error, OSError):
        return error
    said = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if number := re.search(r"errno = (\d+)", said):
        return OSError(int(number[1]), os.strerror(int(number[1])))
    return RuntimeError(re.sub(r"^.*\[ADIOS2 EXCEPTION\][^:]*: ", "", said, flags=re.DOTALL))


def _write_said(stream: adios2.Stream, base: str, layout: StepLayout) -> None:
    for path, attrs in layout.groups.items():
        _write_attributes(stream, f"{base}/{path}".rstrip("/"), attrs)
    for path, extent in layout.constants.items():
        value = np.array(extent.attrs.get("value", 0), extent.dtype)
        constant = {"value": value, "shape": np.array(extent.shape, "u8")}
        _write_attributes(stream, f"{base}/{path}", {**extent.attrs, **constant})
    for path, extent in layout.datasets.items():
        _write_attributes(stream, f"{base}/{path}", extent.attrs)


def _write_parts(stream: adios2.Stream, path: str, shape: tuple[int, ...], parts: Parts) -> None:
    for offset, array in parts:
        if not shape:
            stream.write(path, np.asarray(array))
        elif array.size:
            place = (list(shape), list(offset), list(array.shape))
            stream.write(path, np.ascontiguousarray(array), *place)


def _write_attributes(stream: adios2.Stream, path: str, attrs: Mapping[str, object]) -> None:
    for name, value in attrs.items():
        stream.write_attribute(f"{path}/{name}", _stored(value))
        if isinstance(value, bool | np.bool_):
            stream.write_attribute(f"{MARK_OF_BOOL}{path}/{name}", np.array(1, "uint8"))


def _stored(value: object) -> str | list[str] | np.ndarray:
    """Return a value as the library takes it."""
    if isinstance(value, bool | np.bool_):
        return np.array(value, "uint8")
    if isinstance(value, str) or (isinstance(value, list) and value and isinstance(value[0], str)):
        return value
    return array_of(value)
