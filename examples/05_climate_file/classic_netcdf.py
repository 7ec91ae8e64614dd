# SPDX-License-Identifier: Apache-2.0
"""Writes netCDF classic files in the 64-bit data format (CDF-5), one step of one variable a time.

Format: "The NetCDF Classic Format Specification" and its CDF-5 extension (PnetCDF): everything
big-endian, counts of 64 bits, each item padded to four bytes; the first dimension, if unlimited,
makes records in which all variables that have it take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from climate import ATTRIBUTES, DIMENSIONS, FILE_ATTRIBUTES, NAME, Climate
from numpy.typing import NDArray

_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_CHAR, _FLOAT, _DOUBLE = 2, 5, 6


class ClassicFile:
    """The climate's file, open for writing; steps are appended in order."""

    def __init__(self, path: Path, climate: Climate, record: bool) -> None:
        self._climate = climate
        self._record = record
        self._file: BinaryIO = path.open("wb", buffering=0)
        begins = dict.fromkeys((*DIMENSIONS, NAME), 0)
        place = len(self._header(begins))
        # Fixed variables first; then the records, each a time and a step.
        for name in DIMENSIONS[1:] if record else DIMENSIONS:
            begins[name] = place
            place += 8 * climate.coordinate(name).size
        if record:
            begins["time"], place = place, place + 8
        begins[NAME] = place
        self._file.write(self._header(begins))
        for name in DIMENSIONS[1:] if record else DIMENSIONS:
            self._file.write(climate.coordinate(name).astype(">f8").tobytes())

    def append(self, number: int, step: NDArray[np.float32]) -> None:
        """Append time step `number`."""
        if self._record:
            time = self._climate.coordinate("time")[number : number + 1]
            self._file.write(time.astype(">f8").tobytes())
        swapped = memoryview(step.astype(">f4")).cast("B")
        while swapped:
            swapped = swapped[self._file.write(swapped) :]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _header(self, begins: Mapping[str, int]) -> bytes:
        shape = self._climate.shape
        extents = dict(zip(DIMENSIONS, shape.extents, strict=True))
        parts = [b"CDF\x05", _count(shape.time if self._record else 0)]
        parts += [_tag(_DIMENSIONS), _count(len(extents))]
        for name, extent in extents.items():
            length = 0 if self._record and name == "time" else extent
            parts += [_name(name), _count(length)]
        parts.append(_attributes(FILE_ATTRIBUTES))
        parts += [_tag(_VARIABLES), _count(len(begins))]
        for name, begin in begins.items():
            axes = DIMENSIONS if name == NAME else (name,)
            attributes = ATTRIBUTES if name == NAME else self._climate.coordinate_attributes(name)
            parts += [_name(name), _count(len(axes))]
            parts += [_count(DIMENSIONS.index(axis)) for axis in axes]
            parts += [_attributes(attributes), _tag(_FLOAT if name == NAME else _DOUBLE)]
            fixed = [extents[axis] for axis in axes if not (self._record and axis == "time")]
            parts.append(_count(int(np.prod(fixed)) * (4 if name == NAME else 8)))
            parts.append(_count(begin))
        return b"".join(parts)


def _tag(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _count(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _name(name: str) -> bytes:
    return _count(len(name.encode())) + _padded(name.encode())


def _attributes(attributes: Mapping[str, str]) -> bytes:
    parts = [_tag(_ATTRIBUTES), _count(len(attributes))]
    for name, text in attributes.items():
        parts += [_name(name), _tag(_CHAR), _name(text)]
    return b"".join(parts)
