# SPDX-License-Identifier: Apache-2.0
"""The tasks of a pool that have keys, and its journal."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from .. import _core
from ..base.messages import shown
from .future import AnyFuture, Outcome
from .journal import Finished, Journal
from .main_classes import unpacked_in_main
from .payload import Part, packed


class Settled(NamedTuple):
    """What came of a future's task; `result` is as it travels."""

    future: AnyFuture
    result: bytearray | None
    outcome: Outcome


class KeyedTasks:
    """Which keys a pool has seen. A key stands for one task: a second one is a mistake."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._under_way: dict[str, AnyFuture] = {}  # or failed: then the key is free again
        self._kept: set[str] = set()

    def claim(self, future: AnyFuture) -> Outcome | None:
        """Take a future's key for it; return what the journal has of it.

        Raises
        ------
        InvalidArgument
            When the key is another task's, or there is no journal.
        DamagedFile
            When the journal does not have what was written to it.
        """
        if future.key is None:
            return None
        if self._journal is None:
            raise _core.InvalidArgument(
                f"a task has a key: got {shown(future.key)}; allowed: no keys in a pool without a "
                "journal. Give the pool a journal, as in Pool(journal='sweep.journal')"
            )
        future.for_journal = True
        with self._lock:
            other = self._under_way.get(future.key)
            free = other is None or (other.done() and _failed(other))
            if future.key in self._kept or not free:
                raise _core.InvalidArgument(
                    f"a key stands for one task: got {shown(future.key)} a second time; allowed: a "
                    "key that no task of this pool has had. Make keys of all that tells tasks apart"
                )
            if future.key not in self._journal:
                self._under_way[future.key] = future
                return None
        self._check_function(future, self._journal)
        outcome = _outcome_of(self._journal.result_of(future.key))
        with self._lock:
            self._kept.add(future.key)
        return outcome

    def result_of(self, future: AnyFuture) -> list[Part]:
        """Return the packed result of a future that the journal had."""
        assert self._journal is not None and future.key is not None
        message = self._journal.result_of(future.key)
        # Classes of the main program are sent as they are now, as with all other tasks.
        return packed(unpacked_in_main(message)) if b"__main__" in message else [message]

    def keep(self, settled: Sequence[Settled]) -> list[Settled]:
        """Write what has finished; return it all, with an error for what cannot be written."""
        finished = [
            Finished(one.future.key, one.future.function, one.result)
            for one in settled
            if one.future.key is not None and one.result is not None and one.outcome.error is None
        ]
        if self._journal is None or not finished:
            return list(settled)
        lost = self._added(self._journal, finished)
        with self._lock:
            for key in {one.key for one in finished} - lost.keys():
                self._kept.add(key)
                self._under_way.pop(key, None)
        return [
            Settled(one.future, None, Outcome(error=lost[one.future.key]))
            if one.future.key in lost
            else one
            for one in settled
        ]

    @staticmethod
    def _added(journal: Journal, finished: Sequence[Finished]) -> dict[str | None, _core.Error]:
        """Write them, all at once; return by key why the journal cannot have some."""
        try:
            journal.add(finished)
        except _core.Error as error:
            if len(finished) == 1:
                return {finished[0].key: error}
            # One may be too large for the disk, and there may be room for others.
            alone = [KeyedTasks._added(journal, [one]) for one in finished]
            return {key: why for one in alone for key, why in one.items()}
        return {}

    def close(self) -> None:
        """Let others have the journal."""
        if self._journal is not None:
            self._journal.close()

    @staticmethod
    def _check_function(future: AnyFuture, journal: Journal) -> None:
        before = journal.function_of(future.key or "")
        if before != future.function:
            raise _core.InvalidArgument(
                f"a key stands for a call of another function: got {shown(future.key)} for "
                f"{future.function!r}; allowed: {before!r}, whose result is in the journal. Choose "
                "another key, or another journal"
            )


def _outcome_of(result: bytearray) -> Outcome:
    try:
        return Outcome(unpacked_in_main(result))
    except BaseException as error:  # what was written cannot be read here
        return Outcome(error=error)


def _failed(future: AnyFuture) -> bool:
    return future.cancelled() or future.exception() is not None
