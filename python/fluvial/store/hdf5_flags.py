# SPDX-License-Identifier: Apache-2.0
"""What the superblock of an HDF5 file says of its writer."""

from __future__ import annotations

from enum import Enum

from .. import _core


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
    """Return what this file says of its writer. Local."""
    return Hdf5Writer(_core.hdf5_writer_of(path))
