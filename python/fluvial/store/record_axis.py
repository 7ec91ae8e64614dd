# SPDX-License-Identifier: Apache-2.0
"""Which axis of files is that of their records, and how many of them are complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._core import DamagedFile, FileDataset, InvalidArgument
from ..base.messages import listed
from .joined_files import UNNAMED, JoinedFiles


def record_dimension(files: JoinedFiles) -> str | None:
    """Return the dimension of time: joined, unlimited, or with times for coordinates. Local.

    UNNAMED where there is none, and unlimited axes without a name are to be taken for it.
    """
    names = [name for name, _, _ in files.dimensions]
    joined = files.joined_dimension
    if joined is not None:
        return joined if joined in names else None
    unlimited = [name for name, _, is_unlimited in files.dimensions if is_unlimited]
    if len(unlimited) == 1:
        return unlimited[0]
    times = [
        name
        for name in unlimited or names
        if name in files.names and _is_time(files.attributes_of(name))
    ]
    if len(times) > 1 or (len(unlimited) > 1 and not times):
        raise InvalidArgument(
            f"'{files.path}' has no steps: got {listed(times or unlimited)}; allowed: one "
            "dimension of time, or one that is unlimited. Use its datasets whole: file[name]"
        )
    if times:
        return times[0]
    return UNNAMED if files.unnamed_records and _along(files, UNNAMED) else None


def records_along(files: JoinedFiles, dim: str) -> int:
    """Return how many records there are. Local.

    Of files that are being written, how many are complete: all datasets have them, and of the last
    one each chunk is stored.

    Raises
    ------
    DamagedFile
        The file is complete, and has more records of one dataset than of another.
    """
    if dim != UNNAMED and not files.grows:
        return files.dims[dim]
    if files.grows:  # the last one; those before it are complete
        return stored_records(files, dim)
    along = _along(files, dim)
    lengths = {name: parts[0].shape[axis] for name, (parts, axis) in along.items()}
    if len(set(lengths.values())) > 1:
        least, most = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DamagedFile(
            f"'{files.path}' has not as many records of one dataset as of another: got "
            f"{lengths[least]} of '{least}' and {lengths[most]} of '{most}'; allowed: as many. Use "
            "its datasets whole, without follow: file[name]"
        )
    return next(iter(lengths.values()), 0)


def stored_records(files: JoinedFiles, dim: str) -> int:
    """Return how many records all datasets have of which each chunk is stored. Local."""
    along = _along(files, dim).values()
    return min((_stored_records(*places) for places in along), default=0)


def places_along(files: JoinedFiles, dim: str) -> int:
    """Return how many records the dataset that has the most of them has room for. Local."""
    along = _along(files, dim).values()
    return max((sum(part.shape[axis] for part in parts) for parts, axis in along), default=0)


def _along(files: JoinedFiles, dim: str) -> dict[str, tuple[Sequence[FileDataset], int]]:
    """Return the datasets that have the dimension, and their axis along it."""
    found: dict[str, tuple[Sequence[FileDataset], int]] = {}
    for name in files.names:
        axis = None if name in files.unreadable else files.axis_of(name, dim)
        if axis is not None:
            found[name] = files.parts_of(name), axis
    return found


def _stored_records(parts: Sequence[FileDataset], axis: int) -> int:
    """Return how many records were written, each after the one before it.

    A program may make room for records before it writes them.
    """
    *complete, dataset = parts
    return sum(part.shape[axis] for part in complete) + _stored_in(dataset, axis)


def _stored_in(dataset: FileDataset, axis: int) -> int:
    shape = dataset.shape

    def is_stored(record: int) -> bool:
        start, count = [0] * len(shape), list(shape)
        start[axis], count[axis] = record, 1
        return dataset.is_stored(start, count)

    low, high = 0, shape[axis]  # those below are stored, that at the upper one is not
    if high and is_stored(high - 1):
        return high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_stored(middle) else (low, middle)
    return low


def _is_time(attributes: Mapping[str, object]) -> bool:
    """Tell whether a coordinate is time, as the CF conventions say it."""
    units = attributes.get("units", "")
    return (
        attributes.get("axis") == "T"
        or attributes.get("standard_name") == "time"
        or (isinstance(units, str) and " since " in units)
    )
