# SPDX-License-Identifier: Apache-2.0
"""What the superblock of an HDF5 file says of its writer (format specification, section II.A)."""

from __future__ import annotations

from enum import Enum

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FLAGS_AT = 11
_OPEN_FOR_WRITING, _FOR_READERS = 0x01, 0x04
_BYTES = 12


class Hdf5Writer(Enum):
    """What a file says of the program that writes it; one that was killed leaves that behind."""

    UNKNOWN = "unknown"
    """The file is not of a version that has such a note (3), or none at all."""
    ALONE = "alone"
    """It has the file open, and nobody can read it meanwhile."""
    WITH_READERS = "with readers"
    """It has the file open in such a way that others can read it (SWMR)."""
    NONE = "none"
    """It has closed the file."""


def writer_of(path: str) -> Hdf5Writer:
    """Return what this file says of its writer."""
    try:
        with open(path, "rb") as file:
            block = file.read(_BYTES)
    except OSError:
        return Hdf5Writer.UNKNOWN
    if len(block) < _BYTES or not block.startswith(_SIGNATURE) or block[8] < 3:
        return Hdf5Writer.UNKNOWN
    flags = block[_FLAGS_AT]
    if flags & _FOR_READERS:
        return Hdf5Writer.WITH_READERS
    return Hdf5Writer.ALONE if flags & _OPEN_FOR_WRITING else Hdf5Writer.NONE
