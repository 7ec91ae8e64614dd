# SPDX-License-Identifier: Apache-2.0
"""One folder of BP5 that a serial library writes on several hosts.

Each host has the library write a folder of its own inside of the series' folder, whose file of data
is a link to the series': `data.1` for the second host. The metadata that the library writes for a
step there go unchanged into the metadata of the series, one after the other, as those of the ranks
do where the library has MPI; so any reader of BP5 finds a series of as many writers as hosts.

| file | for each step |
|---|---|
| data.N | the elements of host N |
| mmd.0 | formats of metadata that no step before had: length of name, length, name, format |
| md.0 | bytes that follow; those of metadata, of attributes, of each host; metadata; attributes |
| md.idx | `s`: place and length in md.0, flushes (0), where the step begins in each data.N |

The index begins with a header of 64 bytes and a record `w`, which says which host has which file.
It is written last, so a kill leaves whole steps. Documented in ADIOS2's source, BP5Writer.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from typing import NamedTuple

from .. import _core
from ..base.messages import shown_path
from .bp_index import ACTIVE_AT, HEADER, RECORD, STEP, VERSION_AT, WRITERS
from .bp_writer import BpWriter, StepOfProcess

_VERSION = 5
_LENGTHS = struct.Struct("<3Q")
_OF_FORMAT = struct.Struct("<2Q")


class MetadataOfStep(NamedTuple):
    """What the library has written for a step on one host, but the elements."""

    header: bytes
    """Of the index."""
    formats: tuple[bytes, ...]
    """New ones, as they stand in the file."""
    metadata: bytes
    attributes: bytes
    begin: int
    """Where in the host's file of data the step begins: after its end, if it has no elements."""
    data_bytes: int
    """Of that file, as its host sees it."""


class BpPartOfHost:
    """What one process writes for its host into the folder of a series.

    Parameters
    ----------
    path
        Of the series; the folder is there.
    host
        The number of this host.
    """

    def __init__(self, path: str, host: int) -> None:
        self._path = os.path.join(path, f"host.{host}")
        os.mkdir(self._path)
        os.symlink(os.path.join("..", f"data.{host}"), os.path.join(self._path, "data.0"))
        self._writer = BpWriter(self._path)
        self._ends = {"md.idx": HEADER, "mmd.0": 0}

    def write(self, step: StepOfProcess) -> MetadataOfStep:
        """Write a step, and return what the index of the series has to know of it.

        Raises
        ------
        SystemError
            It cannot be written, or the library's files are not as they are known.
        """
        self._writer.write(step)
        with open(os.path.join(self._path, "md.idx"), "rb") as file:
            header = file.read(HEADER)
        try:
            return self._new(header)
        except (struct.error, ValueError) as error:
            raise _core.SystemError(
                f"ranks on several hosts cannot write '{shown_path(self._path)}': got metadata of "
                f"ADIOS2 that are not those of BP5 as known ({error}); allowed: what ADIOS2 2.9 to "
                "2.12 write. Install one of these, or give engine='hdf5'"
            ) from None

    def _new(self, header: bytes) -> MetadataOfStep:
        if len(header) < HEADER or header[VERSION_AT] != _VERSION:
            raise ValueError("version")
        index = self._read_on("md.idx")
        steps: list[tuple[int, ...]] = []
        at = 0
        while at < len(index):
            kind, length = RECORD.unpack_from(index, at)
            words = struct.unpack_from(f"<{length // 8}Q", index, at + RECORD.size)
            at += RECORD.size + length
            if kind == STEP:
                steps.append(words)
        if len(steps) != 1 or len(steps[0]) != 4 or steps[0][2] != 0:
            raise ValueError(f"steps {steps}")
        place, size, _, begin = steps[0]
        with open(os.path.join(self._path, "md.0"), "rb") as file:
            file.seek(place)
            raw = file.read(size)
        rest, metadata, attributes = _LENGTHS.unpack_from(raw)
        if rest + 8 != size or _LENGTHS.size + metadata + attributes != size:
            raise ValueError(f"lengths {rest}, {metadata}, {attributes} of {size}")
        end = _LENGTHS.size + metadata
        formats = tuple(_formats(self._read_on("mmd.0")))
        data_bytes = os.path.getsize(os.path.join(self._path, "data.0"))
        return MetadataOfStep(
            header, formats, raw[_LENGTHS.size : end], raw[end:], begin, data_bytes
        )

    def _read_on(self, name: str) -> bytes:
        """Return what a file has got since it was read last."""
        with open(os.path.join(self._path, name), "rb") as file:
            file.seek(self._ends[name])
            found = file.read()
        self._ends[name] += len(found)
        return found

    def close(self) -> None:
        """Close the folder and remove it: all that it had is in the series."""
        try:
            self._writer.close()
        finally:
            shutil.rmtree(self._path, ignore_errors=True)

    def leave(self) -> None:
        """Forget the folder, which is removed with that of the series."""
        self._writer.leave()


class BpJoinedIndex:
    """Metadata and index of a series that several hosts write; one process has it."""

    def __init__(self, path: str, hosts: int) -> None:
        self._path = path
        self._hosts = hosts
        self._known: set[bytes] = set()
        self._unwritten: list[bytes] = []
        """Formats that the file has yet to get: hosts tell them only once."""
        self._begun = False

    def add(self, of_hosts: Sequence[MetadataOfStep]) -> None:
        """Make a step of what each host has written.

        Raises
        ------
        OSError
            A file cannot be written, or one with data is not seen here.
        """
        for entry in (entry for step in of_hosts for entry in step.formats):
            if entry not in self._known:
                self._known.add(entry)
                self._unwritten.append(entry)
        for host, step in enumerate(of_hosts):
            if os.path.getsize(os.path.join(self._path, f"data.{host}")) < step.data_bytes:
                raise OSError(f"data.{host} is shorter here than where it was written")
        self._append("mmd.0", b"".join(self._unwritten))
        self._unwritten = []
        lengths = [
            *(len(step.metadata) for step in of_hosts),
            *(len(step.attributes) for step in of_hosts),
        ]
        blocks = [step.metadata for step in of_hosts] + [step.attributes for step in of_hosts]
        body = struct.pack(f"<{len(lengths)}Q", *lengths) + b"".join(blocks)
        place = self._append("md.0", struct.pack("<Q", len(body)) + body)
        words = (place, 8 + len(body), 0, *(step.begin for step in of_hosts))
        record = _record(STEP, words)
        if not self._begun:
            numbers = (self._hosts, self._hosts, self._hosts, *range(self._hosts))
            record = of_hosts[0].header + _record(WRITERS, numbers) + record
        self._append("md.idx", record)
        self._begun = True

    def _append(self, name: str, what: bytes) -> int:
        """Add to a file; return where it begins."""
        with open(os.path.join(self._path, name), "ab", buffering=0) as file:
            begin = file.tell()
            try:
                rest = memoryview(what)
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(begin)
                raise
        return begin

    def close(self) -> None:
        """Say in the index that no step follows."""
        if self._begun:
            with open(os.path.join(self._path, "md.idx"), "r+b") as file:
                file.seek(ACTIVE_AT)
                file.write(b"\0")


def _record(kind: int, words: Sequence[int]) -> bytes:
    return RECORD.pack(kind, 8 * len(words)) + struct.pack(f"<{len(words)}Q", *words)


def _formats(raw: bytes) -> list[bytes]:
    """Return each format that a file has, with its lengths.

    >>> _formats(struct.pack("<2Q", 1, 2) + b"abb")[0][16:]
    b'abb'
    """
    found = []
    at = 0
    while at < len(raw):
        name, length = _OF_FORMAT.unpack_from(raw, at)
        end = at + _OF_FORMAT.size + name + length
        if end > len(raw):
            raise ValueError(f"a format of {name + length} bytes, {len(raw) - at} of them there")
        found.append(raw[at:end])
        at = end
    return found
