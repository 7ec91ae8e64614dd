# SPDX-License-Identifier: Apache-2.0
"""The steps of files: iterations of openPMD, records along an axis of time, or files by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .. import _core
from .joined_files import JoinedFiles
from .record_axis import record_dimension, records_along


class StoredStep(NamedTuple):
    """What one step of files is made of."""

    number: int
    """Of the iteration, of the record, or in the file's name."""
    files: JoinedFiles
    """Whose datasets are those of the step."""
    record: tuple[str, int] | None = None
    """Dimension, and the position along it that is the step; None where the step is all of it."""
    attrs: Mapping[str, object] | None = None
    """Of the series as the files say; None: those of `files`."""


class StoredSteps(NamedTuple):
    """The steps of files in ascending order; each is opened when it is asked for."""

    numbers: Sequence[int]
    open_at: Callable[[int], StoredStep]
    """Gives the step at a position. Local."""


def steps_of(files: JoinedFiles) -> StoredSteps:
    """Return the steps of a file, or of several as one. Local.

    Of openPMD its iterations, of BP its steps; else the records of the joined or unlimited
    dimension, or of the one whose coordinate is time; else one step with all that there is.
    """
    if files.has_iterations and len(files.paths) > 1:
        raise _core.InvalidArgument(
            f"files of openPMD or BP are not joined: got {len(files.paths)} of them; allowed: one, "
            "or a file for each step by its number, as in 'data%T.h5'"
        )
    if files.has_iterations:
        found = files.iterations()
        of_series = files.attrs
        return StoredSteps(
            [index for index, _ in found],
            lambda at: StoredStep(*found[at], None, of_series),
        )
    dim = record_dimension(files)
    if dim is None:
        return StoredSteps([0], lambda _: StoredStep(0, files))
    return StoredSteps(
        range(records_along(files, dim)), lambda at: StoredStep(at, files, (dim, at))
    )


def steps_of_numbered(
    paths: Sequence[tuple[int, str]], open_one: Callable[[str], JoinedFiles]
) -> StoredSteps:
    """Return a step for each file, whose number counts. Local; a file is opened with its step.

    Raises
    ------
    DamagedFile
        When a step is opened: its file is openPMD and has no iteration, or several.
    """

    def open_at(at: int) -> StoredStep:
        index, path = paths[at]
        files = open_one(path)
        if not files.has_iterations:
            dim = record_dimension(files)
            one = dim is not None and files.dims[dim] == 1
            return StoredStep(index, files, (dim, 0) if dim is not None and one else None)
        found = files.iterations()
        if len(found) != 1:
            raise _core.DamagedFile(
                f"'{path}' is no file of one iteration: got {len(found)}; allowed: 1 in each file "
                "of a series of numbered ones. Open the file by itself"
            )
        return StoredStep(index, found[0][1], None, files.attrs)

    return StoredSteps([index for index, _ in paths], open_at)
