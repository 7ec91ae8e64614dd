# SPDX-License-Identifier: Apache-2.0
"""Whether the files of a folder of BP5 are as long as its index says.

The library waits for ever for bytes that were cut off, and takes an index without its end for one
with fewer steps. Documented in ADIOS2's source, BP5Writer::WriteMetadataFileIndex.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import NamedTuple

HEADER = 64
_BIG_ENDIAN_AT = 36
VERSION_AT, ACTIVE_AT = 37, 39
STEP, WRITERS = ord("s"), ord("w")
RECORD = struct.Struct("<BQ")
"""Kind, and bytes that follow."""


class Index(NamedTuple):
    """What the index says of where things lie."""

    subfiles: tuple[int, ...]
    """Number of the file with the data of each writer, in the last step."""
    starts: tuple[int, ...]
    """Where in it the data of the last step begin, of each writer."""


def read_index(path: str) -> Index | None:
    """Return what the index of a folder says; None for one that is not BP5's, or has no step.

    Raises
    ------
    ValueError
        The index ends in the middle of a record though its writer has closed it, or the metadata
        are shorter than it says.
    """
    with open(os.path.join(path, "md.idx"), "rb") as file:
        raw = file.read()
    if len(raw) < HEADER or raw[VERSION_AT] != 5 or raw[_BIG_ENDIAN_AT]:
        return None
    at, end = HEADER, 0
    subfiles: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    while at < len(raw):
        kind, length = RECORD.unpack_from(raw, at) if at + RECORD.size <= len(raw) else (0, 0)
        at += RECORD.size
        if kind not in (STEP, WRITERS) or length % 8 or at + length > len(raw):
            if raw[ACTIVE_AT]:
                break  # its writer was at it
            raise ValueError(f"md.idx ends within a record, after {len(raw)} bytes")
        words = struct.unpack_from(f"<{length // 8}Q", raw, at)
        at += length
        if kind == WRITERS:
            subfiles = words[3:]
        else:
            end = max(end, words[0] + words[1])
            flushed = words[2] > 0  # in several places, of which only the last is known
            starts = () if flushed else words[3:]
    _check_length(path, "md.0", end)
    return Index(subfiles, starts) if starts else None


def check_lengths(path: str, index: Index, written: Mapping[int, int]) -> None:
    """Raise ValueError unless the files with data are as long as they must be.

    `written` has the bytes of the last step that each writer has written, at least.
    """
    for writer, (subfile, start) in enumerate(zip(index.subfiles, index.starts, strict=False)):
        length = written.get(writer, 0)
        if length > 0:  # the beginning of nothing may lie beyond the end
            _check_length(path, f"data.{subfile}", start + length)


def _check_length(path: str, name: str, needed: int) -> None:
    found = os.path.getsize(os.path.join(path, name))
    if found < needed:
        raise ValueError(f"{name} has {found} bytes of at least {needed}")
