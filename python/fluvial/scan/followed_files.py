# SPDX-License-Identifier: Apache-2.0
"""One file that is still being written, or a file for each step, "data%T.h5".

Files are opened anew where there may be more in them. What the writer leaves beside them
(`store/progress_mark.py`) says which steps are finished, and that no more will come. Files of other
programs have no such mark: of numbered ones, the last is left alone until it has not changed for a
second; HDF5 of version 3 says itself whether its writer has closed it, or lets others read
meanwhile (SWMR): then it has as many steps as there are whole records of all datasets that grow.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from .._core import Error, InvalidArgument, PeerLost, TimedOut, serve
from ..base.messages import shown_text
from ..describe.attributes import Attributes
from ..mpi.communicator import Communicator
from ..store.hdf5_flags import Hdf5Writer, writer_of
from ..store.numbered_files import has_number, numbered_files
from ..store.progress_mark import Progress, Writer, progress_of, writer_rests
from ..store.stored_steps import StoredStep
from .file import File
from .file_series import FileSeries, FileSteps
from .file_step import FileStep
from .followed_series import (
    LATE_LOOKS_MAX,
    NAP_MAX_S,
    NAP_MIN_S,
    OWN,
    SETTLED_S,
    FollowedSeries,
    Found,
    Limits,
    gone,
)


class FollowedFiles(FollowedSeries):
    """A series in one file, or in numbered ones."""

    def __init__(
        self,
        name: str,
        open_now: Callable[[], File | FileSeries],
        comm: Communicator | None,
        until: str | None,
        limits: Limits,
    ) -> None:
        super().__init__(name, comm, until, limits)
        self._open_now = open_now
        self._latest: File | FileSeries | None = None
        self._opened_at: Progress | None = None
        """How far the writer was when `_latest` was opened."""
        self._progress: Progress | None = None
        """How far it was when the state was asked for."""
        self._late_looks = 0
        """Times in a row that the writer had changed the files before they were open."""
        self._seen_writing = False

    @property
    def steps(self) -> FileSteps:
        """The steps that are finished by now. Local."""
        found = self._look_again().steps
        return FileSteps(found._stored, self.comm)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the (first) file as it is now. Local."""
        return self._look_again().attrs

    @property
    def paths(self) -> list[str]:
        """Of the files that there are by now. Local."""
        return self._look_again().paths

    @property
    def format(self) -> str:
        """Of the (first) file, e.g. "HDF5". Local."""
        return self._look_again().format

    def close(self) -> None:
        """Close the files; what other threads wait for ends. Idempotent."""
        self._latest = None
        super().close()

    def _step(self, found: Found) -> FileStep:
        assert found.number is not None
        number = found.number
        end, looks = time.monotonic() + self._limits.next_s, 0
        while True:
            with self._writer_rests_after(looks):
                files = self._latest
                if files is None or number not in self._finished_in(files):
                    files = self._open_whole()
                if files is not None and number in self._finished_in(files):
                    stored = self._stored_step(files, number)
                    if stored is not None:
                        return FileStep(stored, self.comm)
            looks += 1
            if time.monotonic() > end:
                raise self._not_here(number)
            serve(NAP_MAX_S)

    def _stored_step(self, files: File | FileSeries, number: int) -> StoredStep | None:
        """Return a finished step; None where the file was changed meanwhile, which may hide it."""
        try:
            return files.steps._stored.open_at(_numbers(files).index(number))
        except Error as error:
            now = progress_of(self.name)
            if now.writer is Writer.GONE and not now.whole:
                raise PeerLost(
                    f"step {number} of '{shown_text(self.name)}' cannot be read: got a writer that "
                    f"was killed while it changed the file ({now.said}); allowed: one that closes "
                    "its files, or numbered files, of which it leaves all but the last"
                ) from error
            if now == self._opened_at:
                raise
            self._latest = None
            return None

    @property
    def _readable(self) -> bool:
        return self._latest is not None

    def _state(self) -> object:
        self._progress = progress_of(self.name)
        self._seen_writing |= self._progress.writer is Writer.WRITES
        return self._progress, self._fingerprint()

    def _check_writer(self) -> None:
        if self._progress is not None and self._progress.writer is Writer.GONE:
            raise gone(self.name, self._progress)

    def _finished_after(self, after: int, complete: bool = False) -> Found | None:
        for again in (complete, True):
            anew = again or self._latest is None
            files = self._open_whole(complete) if anew else self._latest
            if files is None:
                return None
            found = [number for number in self._finished_in(files) if number > after]
            if found or again:
                return Found(found[0]) if found else None
        return None

    def _finished_in(self, files: File | FileSeries) -> list[int]:
        """Return the numbers of steps that were finished when the files were opened."""
        numbers, then = _numbers(files), self._opened_at
        if then is None or (then.writer is not Writer.NONE and has_number(self.name)):
            return numbers  # files get their names when they are whole
        if then.writer is not Writer.NONE:
            return [number for number in numbers if number <= then.finished]
        if not has_number(self.name) or self._settled() or files.attrs.get("software") == OWN:
            return numbers
        return numbers[:-1]  # another program may still be writing it

    def _open_whole(self, complete: bool = False) -> File | FileSeries | None:
        """Open the files as a finished step left them; None: that is not so now.

        Of files that are `complete` an error is one; else another look may find them whole.
        """
        with self._writer_rests_after(self._late_looks):
            files = self._open_if_whole(complete)
        self._late_looks = 0 if files is not None else self._late_looks + 1
        return files

    def _writer_rests_after(self, late_looks: int) -> contextlib.AbstractContextManager[None]:
        """Ask a writer that is faster than files can be opened to rest meanwhile."""
        patient = late_looks < LATE_LOOKS_MAX
        return contextlib.nullcontext() if patient else writer_rests(self.name)

    def _open_if_whole(self, complete: bool) -> File | FileSeries | None:
        before = progress_of(self.name)
        if not before.whole and before.writer is Writer.WRITES:
            return None
        if before.writer is Writer.NONE and self._hdf5_writer() is Hdf5Writer.ALONE:
            return None
        try:
            files = self._open_now()
            _numbers(files)
        except Error:
            # A writer that was killed while it changed a file may leave one that cannot be read.
            if progress_of(self.name) != before or before.writer is not Writer.NONE:
                return None
            if self._latest is None and not self._exists():
                return None
            if not complete and not self._settled():
                return None
            raise
        if progress_of(self.name).changes != before.changes:
            return None
        self._check_followed(files, before)
        self._opened.add(files)
        self._latest, self._opened_at = files, before
        return files

    def _check_followed(self, files: File | FileSeries, before: Progress) -> None:
        """Refuse one file of netCDF-4 that grows: the index of its chunks changes under readers."""
        growing = before.writer is Writer.WRITES and not has_number(self.name)
        if growing and files.format.startswith("netCDF-4"):
            files.close()
            raise InvalidArgument(
                f"one file of netCDF-4 cannot be followed: got '{shown_text(self.name)}'; allowed: "
                "a file for each step, as 'run%T.nc4', or CDF-5, as 'run.nc'. Read it when its "
                "writer has closed it"
            )

    def _look_again(self) -> File | FileSeries:
        self._check_open()
        end = time.monotonic() + self._limits.first_s
        while (files := self._open_whole()) is None:
            if time.monotonic() > end:
                raise TimedOut(self._late(self._limits.first_s))
            serve(NAP_MIN_S)
            self._check_open()
        return files

    def _is_complete(self) -> bool:
        if self._progress is None or self._progress.writer is not Writer.NONE:
            return False
        if self._latest is None:
            # Of a numbered series that was closed without a step there is no file.
            return self._seen_writing and not self._exists()
        if self._seen_writing:
            return True
        try:
            if self._latest.attrs.get("software") == OWN:
                return True
            return self._hdf5_writer() is Hdf5Writer.NONE
        except Error:
            return False  # it is being written

    def _hdf5_writer(self) -> Hdf5Writer:
        """Return what one file of another program says of it."""
        return Hdf5Writer.UNKNOWN if has_number(self.name) else writer_of(self.name)

    def _exists(self) -> bool:
        if not has_number(self.name):
            return os.path.exists(self.name)
        try:
            return bool(numbered_files(self.name))
        except Error:
            return False

    def _settled(self) -> bool:
        found = self._fingerprint()
        return not found or time.time() - max(seen[1] for seen in found) * 1e-9 > SETTLED_S

    def _fingerprint(self) -> tuple[tuple[str, int, int], ...]:
        """Return name, time of change and size of what could have changed."""
        try:
            paths = [self.name]
            if has_number(self.name):
                paths = [path for _, path in numbered_files(self.name)][-1:]
            seen = ((path, os.stat(path)) for path in paths)
            return tuple((path, s.st_mtime_ns, s.st_size) for path, s in seen)
        except (OSError, Error):
            return ()


def _numbers(files: File | FileSeries) -> list[int]:
    return files.steps.indices
