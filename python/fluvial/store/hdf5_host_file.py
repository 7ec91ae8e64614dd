# SPDX-License-Identifier: Apache-2.0
"""Files of HDF5 that hold what the ranks of one host have put, and the datasets that join them.

The file of a host has each dataset as one row of numbers: what its ranks have put, one part after
the other, so that every part is written in one piece. The series' own file has a virtual dataset
that says where each part belongs, which every program with HDF5 1.10 or newer reads.
"""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .hdf5_objects import (
    OBJECT_BYTES_MAX,
    close_file,
    make_dataset,
    new_file,
    set_attributes,
    space_of,
    type_of,
)
from .output_file import cannot_write, remove, take_room
from .step_contents import Region

if TYPE_CHECKING:
    import h5py
    from h5py import h5d, h5g


_PARTS_REQUIRED = "_FluvialPartsRequired"
"""Attribute by which a file of a host that is missing is an error, and no fill value."""


def path_of_host(path: str, host: int) -> str:
    """Return the path of the file of a host, by its number.

    >>> path_of_host("run.h5", 3)
    'run.h5.host3'
    """
    return f"{path}.host{host}"


def remove_files_of_hosts(path: str) -> None:
    """Remove what an earlier series of this name has left: it may have had more hosts.

    Raises
    ------
    SystemError
        It cannot be removed.
    """
    for found in glob.glob(f"{glob.escape(path)}.host*"):
        if found.removeprefix(f"{path}.host").isdecimal():
            remove(found)


class HostFile:
    """The file of a host. One of its processes has it."""

    def __init__(self, path: str) -> None:
        """Make it with its first step."""
        self.path = path
        self._file: h5py.File | None = None

    def lay_out(self, number: int, lengths: Mapping[str, tuple[np.dtype, int]]) -> dict[str, int]:
        """Make datasets of a step, rows of so many elements; return where each begins.

        Raises
        ------
        SystemError
            There is no room on the disk.
        """
        needed = {name: row for name, row in lengths.items() if row[1]}
        if self._file is None:
            self._file = new_file(self.path)
        size = sum(dtype.itemsize * length for dtype, length in needed.values())
        with open(self.path, "rb+") as file:
            had = os.fstat(file.fileno()).st_size
            room = size + (len(needed) + 2) * OBJECT_BYTES_MAX
            take_room(file.fileno(), self.path, had + room)
        try:
            step = self._file.create_group(f"data/{number}")
            begins = {
                name: make_dataset(step.id, name, dtype, space_of((length,))).get_offset()
                for name, (dtype, length) in needed.items()
            }
            self._file.flush()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None
        return begins

    def give_up(self, number: int) -> None:
        """Take a step out again that could not be written."""
        group = f"data/{number}"
        if self._file is not None and group in self._file:
            del self._file[group]

    def close(self) -> None:
        """Close the file. Idempotent."""
        close_file(self._file, self.path)


class JoinedRows(NamedTuple):
    """Rows in the files of hosts that are one dataset together."""

    series: str
    """Path of the series' own file."""
    name: str
    """Of the row in each file."""
    by_host: Sequence[Sequence[Region]]
    """What the file of each host has, one part after the other."""


def make_joined_dataset(
    group: h5g.GroupID,
    name: str,
    dtype: np.dtype,
    shape: tuple[int, ...],
    rows: JoinedRows,
) -> h5d.DatasetID:
    """Make a dataset whose elements lie in the files of hosts, and the groups on the way to it.

    Files are named without their folder: they lie beside the one of the series.
    """
    from h5py import h5d, h5p

    properties = h5p.create(h5p.DATASET_CREATE)
    if dtype.kind in "fc":  # what other programs find where a file of a host is missing
        properties.set_fill_value(np.array(np.nan, dtype))
    whole = space_of(shape)
    for host, regions in enumerate(rows.by_host):
        file = path_of_host(os.path.basename(rows.series), host)
        length = sum(math.prod(extent) for _, extent in regions)
        begin = 0
        for offset, extent in _joined(regions):
            count = math.prod(extent)
            whole.select_hyperslab(offset, (1,) * len(shape), block=extent)
            row = space_of((length,))
            row.select_hyperslab((begin,), (1,), block=(count,))
            properties.set_virtual(whole, _literal(file), _literal(rows.name), row)
            begin += count
    whole.select_all()
    with_groups = h5p.create(h5p.LINK_CREATE)
    with_groups.set_create_intermediate_group(True)
    made = h5d.create(group, name.encode(), type_of(dtype), whole, properties, with_groups)
    set_attributes(made, {_PARTS_REQUIRED: np.uint8(1)})
    return made


def _literal(name: str) -> bytes:
    """Return a name for a virtual dataset, where "%b" would be the number of a block."""
    return name.replace("%", "%%").encode()


def _joined(regions: Sequence[Region]) -> list[Region]:
    """Return regions, slabs that follow each other as one; those without elements are left out.

    >>> _joined([((0, 0), (2, 5)), ((2, 0), (1, 5)), ((3, 1), (1, 0)), ((4, 0), (1, 5))])
    [((0, 0), (3, 5)), ((4, 0), (1, 5))]
    """
    found: list[Region] = []
    for offset, extent in regions:
        if 0 in extent:
            continue
        if found:
            (first, *others), (length, *across) = found[-1]
            if (first + length, *others) == offset and tuple(across) == extent[1:]:
                found[-1] = (first, *others), (length + extent[0], *across)
                continue
        found.append((offset, extent))
    return found
