# SPDX-License-Identifier: Apache-2.0
"""A file of netCDF (CDF-5) with a record for each step, whose elements any process can write.

One process writes the header, coordinates and numbers of steps, and says where each dataset of a
record lies; then each rank writes its parts there. The header says how many records there are, and
gets a new number when a record is complete: whatever ends the writer leaves whole records behind.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping

import numpy as np

from ..describe.dates import TIME
from .netcdf_header import RECORDS_AT, NetcdfVariable, netcdf_header, padded
from .netcdf_variables import check_varies, once_and_records
from .output_file import cannot_write, take_room, write_at
from .record_layout import RecordLayout, check_same, record_layout, series_attributes
from .step_contents import Parts, Places, StepContents


class NetcdfOutput:
    """A new file; made when its first step is laid out, which says what is in each of them.

    Raises
    ------
    SystemError
        The file cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._layout: RecordLayout | None = None
        self._begins: dict[str, int] = {}
        self._record_bytes = 0
        self._records = 0
        self._without_steps = False
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise cannot_write(path, error) from None

    def lay_out(self, step: StepContents) -> Places:
        """Make room for a record; return where its datasets begin.

        Raises
        ------
        InvalidArgument
            The step has not what the first one had, or what the format does not have.
        SystemError
            There is no room on the disk.
        """
        layout = record_layout(step)
        first = self._layout is None
        if self._layout is None:
            self._write_header(layout, series_attributes(step.said.of_series))
        else:
            check_same(self._layout, layout, step.number)
        known = self._known
        end = min((begin for name, begin in self._begins.items() if self._is_record(name)))
        take_room(self._file, self.path, end + (self._records + 1) * self._record_bytes)
        for name, variable in layout.variables.items():
            if variable.values is not None and (first or known.variables[name].by_record):
                raw = variable.values.astype(variable.values.dtype.newbyteorder(">"), order="C")
                self._write(raw.reshape(-1).view(np.uint8).data, self._begin_of(name))
        begins = {name: self._begin_of(name) for name in step.extents}
        kept = () if first else (name for name in step.extents if not self._is_record(name))
        return Places(self.path, begins, True, frozenset(kept))

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write what ranks cannot write by themselves: nothing."""

    def finish(self) -> None:
        """Count the record that was laid out last among those of the file."""
        self._records += 1
        self._write(memoryview(struct.pack(">Q", self._records)), RECORDS_AT)

    def give_up(self, index: int) -> None:
        """Leave the record out: the next one takes its place; the first may be another one."""
        if self._records == 0:
            self._layout = None
            os.ftruncate(self._file, 0)

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the file with the attributes of the series and an axis of time alone."""
        header = netcdf_header(0, {TIME: 0}, series_attributes(of_series), {})
        take_room(self._file, self.path, len(header))
        self._write(memoryview(header), 0)
        self._without_steps = True

    def close(self) -> None:
        """Close the file; where each step has failed it is removed. Idempotent."""
        file, self._file = self._file, -1
        if file < 0:
            return
        os.close(file)
        if self._records == 0 and not self._without_steps:
            os.unlink(self.path)

    @property
    def _known(self) -> RecordLayout:
        assert self._layout is not None
        return self._layout

    def _is_record(self, name: str) -> bool:
        return self._known.variables[name].by_record

    def _begin_of(self, name: str) -> int:
        """Return where a variable lies, of a record that of the one being written."""
        behind = self._records * self._record_bytes if self._is_record(name) else 0
        return self._begins[name] + behind

    def _write_header(self, layout: RecordLayout, attrs: Mapping[str, object]) -> None:
        """Write the header, after all room for what is there once was taken."""
        check_varies(layout)
        once, records = once_and_records(layout)
        sizes = {name: v.bytes for name, v in (once | records).items()}
        dims = {TIME: 0, **layout.dims}

        def header() -> bytes:
            numbers = {dim: number for number, dim in enumerate(dims)}
            variables = {
                name: NetcdfVariable(
                    v.dtype,
                    tuple(numbers[dim] for dim in ((TIME,) if v.by_record else ()) + v.dims),
                    v.attrs,
                    padded(sizes[name]),
                    self._begins[name],
                )
                for name, v in (once | records).items()
            }
            return netcdf_header(0, dims, attrs, variables)

        self._begins = dict.fromkeys(sizes, 0)
        end = len(header())
        for name, size in sizes.items():
            self._begins[name] = end
            end += padded(size)
        # A lone variable of records is not padded.
        self._record_bytes = sum(padded(sizes[name]) for name in records)
        if len(records) == 1:
            self._record_bytes = sizes[next(iter(records))]
        self._layout = layout
        take_room(self._file, self.path, end)
        self._write(memoryview(header()), 0)

    def _write(self, data: memoryview, at: int) -> None:
        try:
            write_at(self._file, data, at)
        except OSError as error:
            raise cannot_write(self.path, error) from None
