# SPDX-License-Identifier: Apache-2.0
"""Along which dimension several files are one, and which of them has a record."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _core


def joined_dimension(first: _core.File) -> str | None:
    """Return the dimension along which files that begin with this one are joined. Local.

    The unlimited one, or where there is none the first of the dataset with the most dimensions; as
    the file calls it, with its group. "" where it has no name, None where nothing has dimensions.
    """
    unlimited = [name for name, _, is_unlimited in first.dimensions if is_unlimited]
    sound = [first.dataset(n) for n in first.names if n not in first.unreadable]
    most = max(sound, key=lambda d: len(d.shape), default=None)
    dims = [] if most is None else [path_of(first, most.name, d) for d in most.dimensions]
    return next((d for d in dims[:1] if d in unlimited), None) or (
        unlimited[0] if unlimited else dims[0] if dims else None
    )


def path_of(file: _core.File, dataset: str, dim: str) -> str:
    """Return what the file calls a dimension of a dataset: that of the nearest group outwards.

    A dataset in a group calls it by its last name.
    """
    known = {path for path, _, _ in file.dimensions}
    group = dataset.rpartition("/")[0]
    while group and f"{group}/{dim}" not in known:
        group = group.rpartition("/")[0]
    return f"{group}/{dim}" if group else dim


def file_of_record(
    parts: Iterable[_core.File], dim: str, record: int
) -> tuple[_core.File, int] | None:
    """Return the file that has a record of all together, and its number there; None behind all."""
    for part in parts:
        length = next((length for name, length, _ in part.dimensions if name == dim), 0)
        if record < length:
            return part, record
        record -= length
    return None
