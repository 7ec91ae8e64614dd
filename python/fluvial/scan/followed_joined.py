# SPDX-License-Identifier: Apache-2.0
"""Several files that are still being written, joined along the axis of their records: "t_*.nc".

They are taken in the order of their names, and their records are the steps, numbered through;
`joined_records.py` says how many of a file are finished. The first rank remembers the files of
which it gave steps: they must stay, and all that come later must be sorted behind them. A step lies
in one file, which the other ranks open, too; files before that one are not kept open.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterator
from functools import partial

from .._core import Error, InvalidArgument, TimedOut, serve
from ..base.messages import shown_text
from ..describe.attributes import Attributes
from ..mpi.communicator import Communicator
from ..store.joinable import check_joins
from ..store.joined_files import JoinedFiles
from ..store.progress_mark import Writer, path_of_mark
from ..store.record_axis import places_along, records_along
from ..store.stored_steps import StoredStep, StoredSteps
from .file import File
from .file_series import FileSteps
from .file_step import FileStep
from .followed_series import NAP_MAX_S, NAP_MIN_S, FollowedSeries, Found, Limits, gone
from .joined_records import GrowingRecords, Records, Stamp, stamp_of


class FollowedJoined(FollowedSeries):
    """A series in several files that a pattern finds."""

    def __init__(
        self,
        name: str,
        open_one: Callable[[str], File],
        comm: Communicator | None,
        until: str | None,
        limits: Limits,
    ) -> None:
        super().__init__(name, comm, until, limits)
        self._open_one = open_one
        self._growing = GrowingRecords(self._open_joinable)
        self._given: list[str] = []
        """The files of which steps were given, or that have none; in their order."""
        self._whole: dict[str, tuple[Stamp, int]] = {}
        """How many records files have that are complete, and how they looked then."""
        self._joins: set[str] = set()
        """The files that are known to join those before them."""
        self._next: tuple[int, int, str] | None = None
        """First and last but one number of the steps that are known to be finished in a file."""

    @property
    def steps(self) -> FileSteps:
        """The steps that are finished by now. Local."""
        self._first_file()
        places = [
            (path, at)
            for path, records in self._records(self._listed(), False)
            for at in range(records.finished)
        ]

        def open_at(number: int) -> StoredStep:
            path, at = places[number]
            dim = self._growing.dimension
            assert dim is not None
            return StoredStep(number, self._opened_with(path, dim, at, number), (dim, at))

        return FileSteps(StoredSteps(range(len(places)), open_at), self.comm)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the first file as it is now. Local."""
        return self._first_file().attrs

    @property
    def paths(self) -> list[str]:
        """Of the files that there are by now. Local."""
        return self._listed()

    @property
    def format(self) -> str:
        """Of the first file, e.g. "netCDF classic (CDF-5)". Local."""
        return self._first_file().format

    def close(self) -> None:
        """Close the files; what other threads wait for ends. Idempotent."""
        super().close()
        self._growing.forget()

    @property
    def _readable(self) -> bool:
        return self._growing.readable

    def _exists(self) -> bool:
        return bool(self._listed())

    def _state(self) -> object:
        paths = self._listed()
        latest = paths[max(len(self._given) - 2, 0) :][:3] + paths[-1:]
        stamps = [(path, stamp_of(path)) for path in latest]
        rests = bool(paths) and self._growing.rests(paths[-1])
        return paths, stamps, rests, self._growing.progress_now()

    def _is_complete(self) -> bool:
        return False  # another file may always come

    def _check_writer(self) -> None:
        waits_for, progress = self._growing.blocking
        if progress is not None and progress.writer is Writer.GONE:
            raise gone(waits_for, progress)

    def _why(self) -> str:
        return f" ({self._growing.why})" if self._growing.why else ""

    def _finished_after(self, after: int, complete: bool = False) -> Found | None:
        wanted = after + 1
        if self._next is not None and self._next[0] <= wanted < self._next[1]:
            return self._found(wanted, *self._next)
        paths = self._listed()
        begin = 0
        for at, (path, records) in enumerate(self._records(paths, complete)):
            end = begin + records.finished
            if wanted < end:
                self._given = max(self._given, paths[: at + 1], key=len)
                self._next = begin, end, path
                return self._found(wanted, *self._next)
            if path in self._given[-1:] and records.stored is not None:
                self._check_not_shorter(path, begin + records.stored, wanted)
            begin = end
        return None

    def _found(self, number: int, begin: int, _: int, path: str) -> Found:
        assert self._growing.dimension is not None
        return Found(number, path, (self._growing.dimension, number - begin))

    def _records(self, paths: list[str], complete: bool) -> Iterator[tuple[str, Records]]:
        """Give the records of one file after the other, until one is not complete."""
        for at, path in enumerate(paths):
            records = self._records_of(paths, at, complete)
            yield path, records
            if not records.whole:
                return

    def _records_of(self, paths: list[str], at: int, complete: bool) -> Records:
        path, last = paths[at], at + 1 == len(paths)
        known = self._whole.get(path)
        if known is not None and at + 2 < len(self._given):
            return Records(known[1], whole=True)
        now = stamp_of(path)
        if known is not None and known[0] == now:
            return Records(known[1], whole=True)
        check = partial(self._check_joins, paths[at - 1] if at > 0 else None)
        found = self._growing.records_of(path, last, complete, check)
        if known is not None and at + 1 < len(self._given):
            if found.whole and found.finished != known[1]:
                raise InvalidArgument(
                    f"'{path}' was changed when steps of the file behind it were given: got "
                    f"{found.finished} records; allowed: {known[1]} as before. A program that has "
                    "begun the next file must be through with the one before"
                )
            return Records(known[1], whole=True)
        if found.whole and not complete:
            self._whole[path] = now, found.finished
        return found

    def _check_joins(self, before: str | None, files: JoinedFiles) -> None:
        dim = self._growing.dimension
        if files.path in self._joins or dim is None:
            return
        if before is not None:
            check_joins(self._open_joinable(before), files, dim)
        self._joins.add(files.path)

    @staticmethod
    def _check_not_shorter(path: str, end: int, wanted: int) -> None:
        if end < wanted:
            raise InvalidArgument(
                f"'{path}' has fewer records than steps of it were given: got steps up to "
                f"{end - 1}; allowed: {wanted - 1} at least. Files that are followed must not be "
                "written anew"
            )

    def _step(self, found: Found) -> FileStep:
        assert found.number is not None and found.record is not None
        files = self._opened_with(found.path, *found.record, found.number)
        return FileStep(StoredStep(found.number, files, found.record), self.comm)

    def _opened_with(self, path: str, dim: str, position: int, number: int) -> JoinedFiles:
        """Return a file that has a record. Waits until this host sees it."""
        files, anew = self._growing.opened(path), False
        end = time.monotonic() + self._limits.next_s
        while files is None or not _has(files, dim, position):
            if time.monotonic() > end:
                raise self._not_here(number)
            if anew:
                serve(NAP_MAX_S)
            self._check_open()
            files, anew = self._open_or_none(path), True
        return files

    def _open_joinable(self, path: str) -> JoinedFiles:
        files = self._open_one(path)._files
        self._opened.add(files)
        return files

    def _open_or_none(self, path: str) -> JoinedFiles | None:
        """Return a file as it is now; None where it cannot be read, which another look may do."""
        try:
            return self._growing.open(path)
        except Error as error:
            self._growing.why = str(error)
            return None

    def _first_file(self) -> JoinedFiles:
        end = time.monotonic() + self._limits.first_s
        while True:
            self._check_open()
            for path in self._listed()[:1]:
                files = self._growing.opened(path) or self._open_or_none(path)
                if files is not None:
                    return files
            if time.monotonic() > end:
                raise TimedOut(self._late(self._limits.first_s))
            serve(NAP_MIN_S)

    def _is_end(self, path: str) -> bool:
        """Tell whether a path is that of the file which says that no step will come."""
        until = self._until
        if until is None or os.path.basename(path) != os.path.basename(until):
            return False
        return os.path.abspath(path) == os.path.abspath(until)

    def _listed(self) -> list[str]:
        """Return the files that there are, by name: those that were given first, in this order."""
        mark = path_of_mark("")
        found = glob.glob(self.name)
        paths = sorted(path for path in found if not (path.endswith(mark) or self._is_end(path)))
        if (given := self._given) == paths[: len(given)]:
            return paths
        for path in given:
            if not os.path.exists(path):
                raise InvalidArgument(
                    f"'{path}' has disappeared: got {len(paths)} files of "
                    f"'{shown_text(self.name)}'; allowed: all of which steps were given. Move "
                    "files away when nobody follows them any more"
                )
        if early := [path for path in paths if path < given[-1] and path not in given]:
            raise InvalidArgument(
                f"'{early[0]}' is sorted before files whose steps were given: got "
                f"'{given[-1]}' before it; allowed: names in the order in which files are "
                "written. Give their numbers as many digits, as in 0009 and 0010"
            )
        return given  # the listing of a shared file system may lag behind


def _has(files: JoinedFiles, dim: str, position: int) -> bool:
    length = records_along(files, dim) if files.grows else places_along(files, dim)
    return position < length
