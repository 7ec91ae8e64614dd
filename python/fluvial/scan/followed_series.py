# SPDX-License-Identifier: Apache-2.0
"""Series in files that are still being written: their steps are given as they are finished.

What a series of each kind finds in its files is beside this: in one file, or a file for each step
(`followed_files.py`), or in several files that are joined (`followed_joined.py`).
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from .._core import InvalidArgument, PeerLost, TimedOut, serve
from ..base.messages import shown_text
from ..mpi.communicator import Communicator
from ..mpi.together import Together
from ..store.joined_files import JoinedFiles
from ..store.progress_mark import Progress
from .file import File
from .file_series import FileSeries, SeriesInFiles
from .file_step import FileStep

OWN = "Fluvial"
"""What Fluvial's own files have as attribute `software`."""
NAP_MIN_S, NAP_MAX_S = 0.001, 0.2
SETTLED_S = 1.0
"""Without a change, after which a file of another program is taken for whole."""
LATE_LOOKS_MAX = 3
"""Looks in a row for which a writer was too fast, after which it is asked to rest."""
_LOOK_S = 1.0  # between looks into files that seem unchanged


class Limits(NamedTuple):
    """Seconds that a follower waits."""

    first_s: float
    """For the files to be there."""
    next_s: float
    """For another step."""


class Found(NamedTuple):
    """What the first rank has found: a step, or the end."""

    number: int | None
    """None: there is no further step."""
    path: str = ""
    """Of the one of several joined files that has it."""
    record: tuple[str, int] | None = None
    """Dimension, and the position along it in that file."""


def gone(name: str, progress: Progress) -> PeerLost:
    """Return the error of a writer that is gone."""
    return PeerLost(
        f"the writer of '{shown_text(name)}' is gone: got {progress.said}; allowed: one that "
        "closes its files. What it has finished can be read without follow, unless it was killed "
        "while it changed the file"
    )


class FollowedSeries(SeriesInFiles):
    """A series in files that is still being written; iterating waits for steps.

    Examples
    --------
    >>> with fl.open("run.h5", follow=True) as series:                    # doctest: +SKIP
    ...     for step in series:
    ...         print(step.time, step.meshes["E"].x.max())
    """

    followed = True

    def __init__(
        self, name: str, comm: Communicator | None, until: str | None, limits: Limits
    ) -> None:
        self.name = name
        self.comm = comm
        self._until = until
        self._limits = limits
        self._ranks = Together(comm, max(limits), f"follow '{shown_text(name)}'")
        self._opened: weakref.WeakSet[File | FileSeries | JoinedFiles] = weakref.WeakSet()
        self._closed = False

    def __iter__(self) -> Iterator[FileStep]:
        """Give the steps from the first on, and wait for the next where it is not there.

        Raises
        ------
        TimedOut
            No step came within `step_timeout`, and nothing says that none will.
        PeerLost
            The writer is gone, and all that it has finished was given.
        InvalidArgument
            A file does not join those before it, or one that was given has disappeared.
        """
        return self._taken.counted(self._each())

    def _each(self) -> Iterator[FileStep]:
        last = -1
        while True:
            after = last
            found = self._ranks.run(partial(self._wait_for_step, after))
            if found.number is None:
                return
            last = found.number
            yield self._ranks.run(partial(self._step, found), everywhere=True)

    @property
    def _following(self) -> Iterator[FileStep]:
        if "_begun" not in self.__dict__:
            self.__dict__["_begun"] = iter(self)
        return self.__dict__["_begun"]

    def __len__(self) -> int:
        """Return how many steps are finished by now, also where no file is there yet. Local."""
        self._check_open()
        return len(self.steps) if self._exists() else 0

    def close(self) -> None:
        """Close the files; what other threads wait for ends. Idempotent."""
        self._closed = True
        for files in list(self._opened):
            files.close()

    def _wait_for_step(self, after: int) -> Found:
        """Return the step that follows, once it is finished; on the first rank."""
        begin, nap, first = time.monotonic(), NAP_MIN_S, True
        looked_at = -_LOOK_S
        state: object = None
        while True:
            self._check_open()
            ended = self._until is not None and os.path.exists(self._until)
            state, previous = self._state(), state
            if state != previous:
                begin, nap = time.monotonic(), NAP_MIN_S
            if first or state != previous or ended or time.monotonic() - looked_at > _LOOK_S:
                first, looked_at = False, time.monotonic()
                found = self._finished_after(after)
                if found is not None:
                    return found
            if ended or self._is_complete():
                # What was finished since the look before is there now.
                return self._finished_after(after, complete=True) or Found(None)
            self._check_writer()
            limit = self._limits.next_s if self._readable else self._limits.first_s
            if time.monotonic() - begin > limit:
                raise TimedOut(self._late(limit))
            serve(nap)
            nap = min(2 * nap, NAP_MAX_S)

    def _late(self, limit: float) -> str:
        what = "no step came from" if self._readable else "nothing can be read of"
        option = "step_timeout" if self._readable else "rendezvous_timeout"
        return (
            f"{what} '{shown_text(self.name)}' in time: got {limit:g} s of waiting{self._why()}; "
            f"allowed: less. Raise {option}, or name a file by follow= that is made when no step "
            "will come"
        )

    def _not_here(self, number: int | None) -> TimedOut:
        return TimedOut(
            f"step {number} of '{shown_text(self.name)}' does not appear on this rank: got "
            f"{self._limits.next_s:g} s of waiting{self._why()}; allowed: files that all ranks see"
        )

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgument("the series is closed; use it inside its `with` block")

    @property
    def _readable(self) -> bool:
        """Whether anything could be read so far."""
        raise NotImplementedError

    def _exists(self) -> bool:
        """Tell whether there is any file."""
        raise NotImplementedError

    def _state(self) -> object:
        """Return what differs when there may be more in the files. Looks at them."""
        raise NotImplementedError

    def _finished_after(self, after: int, complete: bool = False) -> Found | None:
        """Return the step that follows, where it is finished; `complete`: so are the files."""
        raise NotImplementedError

    def _is_complete(self) -> bool:
        """Tell whether nothing more will come, as it was when the state was asked for."""
        raise NotImplementedError

    def _check_writer(self) -> None:
        """Raise PeerLost where the state was that of a writer which is gone."""
        raise NotImplementedError

    def _why(self) -> str:
        """Return why nothing can be read of a file that is there, for messages."""
        return ""

    def _step(self, found: Found) -> FileStep:
        """Return a finished step. Local, but waits until this host sees it, too."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, object]:
        raise InvalidArgument(
            f"a series that is followed cannot be pickled: got {self!r}; allowed: series opened "
            "without follow"
        )

    def __repr__(self) -> str:
        return f"<fluvial.FollowedSeries {self.name!r}>"
