# SPDX-License-Identifier: Apache-2.0
"""A folder of BP (BP5), written by ADIOS2: an iteration of openPMD in each of its steps.

The library from PyPI is a serial one, so one process writes for all; each keeps its own chunks.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..describe.attributes import array_of
from .attribute_texts import check_attributes
from .bp_file import MARK_OF_BOOL
from .openpmd_layout import StepLayout, series_attributes, step_layout
from .output_file import cannot_write
from .step_contents import Extent, Parts, Places, StepContents

if TYPE_CHECKING:
    import adios2

_DTYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float32", "float64", "complex64", "complex128"),
}


class BpOutput:
    """A new folder; a step is there once it was finished."""

    def __init__(self, path: str, pattern: str | None) -> None:
        """Make the folder with its first step; `pattern` is that of one for each iteration."""
        self.path = path
        self._pattern = pattern
        self._stream: adios2.Stream | None = None
        self._failed: Exception | None = None
        self._number = 0
        self._of_series: dict[str, object] = {}
        self._layout = StepLayout({}, {}, {})
        self._parts: Mapping[str, Parts] = {}

    def lay_out(self, step: StepContents) -> Places:
        """Look at what a step consists of; nothing is written yet.

        Raises
        ------
        InvalidArgument
            openPMD or the format have no place for what was put.
        SystemError
            An earlier step could not be written: the library takes none after that.
        """
        if self._failed is not None:
            raise self._failed
        of_series = series_attributes(step.said.of_series, self._pattern, _core.__version__)
        self._layout = step_layout(
            step.said.attrs, step.extents, of_series, step.said.groups, step.said.varying
        )
        check_attributes(of_series, "the series", slashes=False)
        self._layout.check_attributes(slashes=False)
        self._number, self._parts = step.number, {}
        for name, extent in step.extents.items():
            if extent.dtype not in _DTYPES or 0 in extent.shape:
                raise InvalidArgument(
                    f"'{name}' cannot be written as BP: got {extent.dtype} of shape "
                    f"{extent.shape}; allowed: {', '.join(sorted(_DTYPES))}, at least one element. "
                    "Convert it, leave it out, or give engine='hdf5'"
                )
        self._of_series = of_series
        return Places(self.path, {}, merged=frozenset(step.extents))

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Take what all ranks have put, until the step is finished."""
        self._parts = parts

    def finish(self) -> None:
        """Write the step.

        Raises
        ------
        SystemError
            It cannot be written.
        """
        try:
            stream = self._begin_stream()
            stream.begin_step()
            self._write_step(stream, f"/data/{self._number}")
            stream.end_step()
        except (OSError, RuntimeError, ValueError) as error:
            self._stream = None  # whose close() after an error makes it end the process
            self._failed = cannot_write(self.path, _reason(error))
            raise self._failed from error
        self._parts = {}

    def _begin_stream(self) -> adios2.Stream:
        if self._stream is None:
            self._stream = _new_stream(self.path)
            _write_attributes(self._stream, "", self._of_series)
        return self._stream

    def _write_step(self, stream: adios2.Stream, base: str) -> None:
        for path, attrs in self._layout.groups.items():
            _write_attributes(stream, f"{base}/{path}".rstrip("/"), attrs)
        for path, extent in self._layout.constants.items():
            value = np.array(extent.attrs.get("value", 0), extent.dtype)
            constant = {"value": value, "shape": np.array(extent.shape, "u8")}
            _write_attributes(stream, f"{base}/{path}", {**extent.attrs, **constant})
        for path, extent in self._layout.datasets.items():
            _write_dataset(stream, f"{base}/{path}", extent, self._parts.get(path, ()))

    def give_up(self, number: int) -> None:
        """Leave a step out: nothing of it was written yet."""
        self._parts = {}

    def discard(self) -> None:
        """Close and remove the folder."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the folder with the attributes of the series alone.

        Raises
        ------
        InvalidArgument
            The format has no place for one of them.
        SystemError
            It cannot be written.
        """
        self._of_series = series_attributes(of_series, self._pattern, _core.__version__)
        check_attributes(self._of_series, "the series", slashes=False)
        try:
            self._begin_stream()
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot_write(self.path, _reason(error)) from error

    def close(self) -> None:
        """Close the folder. Idempotent."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            stream.close()
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot_write(self.path, _reason(error)) from error


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


def _write_dataset(stream: adios2.Stream, path: str, extent: Extent, parts: Parts) -> None:
    for offset, array in parts:
        if not extent.shape:
            stream.write(path, np.asarray(array))
        elif array.size:
            shapes = (list(extent.shape), list(offset), list(array.shape))
            stream.write(path, np.ascontiguousarray(array), *shapes)
    _write_attributes(stream, path, extent.attrs)


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
