# SPDX-License-Identifier: Apache-2.0
"""What the superblock of an HDF5 file says of its writer (format specification, section II.A)."""

from __future__ import annotations

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FLAGS_AT = 11
_OPEN_FOR_WRITING = 0x01
_BYTES = 12


def closed_by_writer(path: str) -> bool:
    """Tell whether this is HDF5 of a version that notes its writer (3), and that has closed it.

    A writer that was killed leaves the note behind.
    """
    try:
        with open(path, "rb") as file:
            block = file.read(_BYTES)
    except OSError:
        return False
    noted = len(block) == _BYTES and block.startswith(_SIGNATURE) and block[8] >= 3
    return noted and not block[_FLAGS_AT] & _OPEN_FOR_WRITING
