# SPDX-License-Identifier: Apache-2.0
"""How many records are finished in each of several files, of which the last one grows.

| a file | its finished records | it is complete |
|---|---|---|
| with a mark of Fluvial | as many as the mark says; of netCDF-4 none | when the mark is gone |
| of Fluvial, without one | all | yes |
| HDF5 that is open for readers (SWMR) | those that are stored whole | when it says so |
| HDF5 that is open otherwise, by its own words | none | when it says so |
| netCDF classic of others, the last one | all but the last; all when it rests | no |
| HDF5 of others, the last one | those that are stored whole, when it rests | no |
| Zarr of others, the last one | none | no |
| of others, with files behind it | all | yes |

A file rests that has not changed for a second since it was looked at first, or was changed so long
ago that clocks which differ do not matter. When somebody has said that no step will come, all
that there is counts.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from .._core import Error
from ..store.hdf5_flags import Hdf5Writer, writer_of
from ..store.joinable import steps_dimension
from ..store.joined_files import JoinedFiles
from ..store.progress_mark import Progress, Writer, progress_of, writer_rests
from ..store.record_axis import records_along, stored_records
from .followed_series import LATE_LOOKS_MAX, OWN, SETTLED_S

_RESTED_LONG_S = 10 * SETTLED_S  # by the clock of a file system, which may be that of another host

Stamp: TypeAlias = tuple[int, int] | None
"""Time of change and size of a file; None: it is not there."""


class Records(NamedTuple):
    """What a file has of records."""

    finished: int
    whole: bool
    """Whether no more will come."""
    stored: int | None = None
    """How many there are, with those that may not be finished; None: it is not known."""


_NONE = Records(0, whole=False)


class GrowingRecords:
    """The records of files, each opened anew where there may be more; one at a time stays open."""

    def __init__(self, open_one: Callable[[str], JoinedFiles]) -> None:
        self._open_one = open_one
        self._latest: tuple[str, JoinedFiles] | None = None
        self._watched: tuple[str, Stamp] | None = None
        self._rests_since = 0.0
        self._late_looks = 0
        """Times in a row that the writer had changed a file before it was open."""
        self.readable = False
        """Whether any file could be read so far."""
        self.blocking: tuple[str, Progress | None] = ("", None)
        """The file that was not complete when it was looked into, and its mark before that."""
        self.why = ""
        """Why that one could not be read."""
        self.dimension: str | None = None
        """Of the steps; None until a file could be read."""

    def opened(self, path: str) -> JoinedFiles | None:
        """Return a file as it was opened last; None where another one was."""
        if self._latest is None or self._latest[0] != path:
            return None
        return self._latest[1]

    def forget(self) -> None:
        """Keep no file open."""
        self._latest = None

    def open(self, path: str) -> JoinedFiles | None:
        """Open a file as it is now; None where its writer has changed it meanwhile.

        Errors are those of opening a file.
        """
        before = progress_of(path)
        if before.writer is Writer.WRITES and not before.whole:
            return None
        rests = self._late_looks >= LATE_LOOKS_MAX
        with writer_rests(path) if rests else contextlib.nullcontext():
            files = self._open_one(path)
            after = progress_of(path)
        late = (after.changes, after.writer) != (before.changes, before.writer)
        self._late_looks = self._late_looks + 1 if late else 0
        if late:
            return None
        self.readable = True
        self._latest = path, files
        return files

    def progress_now(self) -> Progress | None:
        """Return the mark of the file that was not complete, as it is now."""
        path, _ = self.blocking
        return progress_of(path) if path else None

    def rests(self, path: str) -> bool:
        """Tell whether the file does not change any more, as far as can be seen."""
        stamp = stamp_of(path)
        if stamp is not None and time.time() - stamp[0] * 1e-9 > _RESTED_LONG_S:
            return True
        seen = path, stamp
        if seen != self._watched:
            self._watched, self._rests_since = seen, time.monotonic()
        return time.monotonic() - self._rests_since > SETTLED_S

    def records_of(
        self, path: str, last: bool, complete: bool, check: Callable[[JoinedFiles], None]
    ) -> Records:
        """Return what a file has, as the table says.

        `check` raises where it does not join the one before. What is wrong with a file is an error
        once it rests, as it may be half made. The last one, where it cannot be read, is waited for.
        """
        progress = progress_of(path)
        self.blocking, self.why = (path, progress), ""
        flag = Hdf5Writer.UNKNOWN if os.path.isdir(path) else writer_of(path)
        own = progress.writer is not Writer.NONE
        if flag is Hdf5Writer.ALONE and not own and not complete:
            self.why = f"'{path}' is still open in its writer, as it says"
            return _NONE
        rests = self.rests(path) if last else _has_rested(path)
        files = None
        try:
            files = self.open(path)
            if files is None:
                return _NONE
            if self.dimension is None:
                self.dimension = steps_dimension(files)
            fits = self.dimension in ("", *files.dims)
            found = _NONE
            if fits:
                last = last and not complete
                found = _counted(files, self.dimension, progress, flag, last, rests)
            if found.finished > 0 or not fits:
                check(files)
            if not found.whole and (own or files.grows):
                self.why = f"'{path}' is still open in its writer, as it says"
            return found
        except Error as error:
            if files is None:
                waits = own or (not complete and (last or not rests))
            else:
                waits = not (complete or own or rests)
            if not waits:
                raise
            self.why = str(error)
            return _NONE


def _counted(
    files: JoinedFiles, dim: str, progress: Progress, flag: Hdf5Writer, last: bool, rests: bool
) -> Records:
    own = progress.writer is not Writer.NONE
    if own and files.format.startswith("netCDF-4"):
        return _NONE  # the index of its chunks changes under readers
    closed = files.attrs.get("software") == OWN or flag is Hdf5Writer.NONE
    by_header = files.format.startswith("netCDF classic") and _grows_along(files, dim)
    if not (own or closed or files.grows or by_header) and last:
        known = rests and not os.path.isdir(files.path)
        return Records(stored_records(files, dim), whole=False) if known else _NONE
    there = finished = records_along(files, dim)
    if own:
        finished = min(there, progress.finished + 1)
    elif not closed and not files.grows and last and not rests:
        finished = max(there - 1, 0)
    whole = not (own or files.grows) and (closed or not last)
    return Records(finished, whole, there)


def stamp_of(path: str) -> Stamp:
    """Return what differs when a file was changed. Local."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _has_rested(path: str) -> bool:
    stamp = stamp_of(path)
    return stamp is not None and time.time() - stamp[0] * 1e-9 > SETTLED_S


def _grows_along(files: JoinedFiles, dim: str) -> bool:
    return any(name == dim and unlimited for name, _, unlimited in files.dimensions)
