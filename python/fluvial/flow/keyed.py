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
        self._taken: dict[str, AnyFuture] = {}

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
        with self._lock:
            other = self._taken.get(future.key)
            if other is not None and not (other.done() and _failed(other)):
                raise _core.InvalidArgument(
                    f"a key stands for one task: got {shown(future.key)} a second time; allowed: a "
                    "key that no task of this pool has had. Make keys of all that tells tasks apart"
                )
            if future.key not in self._journal:
                self._taken[future.key] = future
                return None
        self._check_function(future, self._journal)
        outcome = Outcome.of(self._journal.result_of(future.key), None)
        with self._lock:
            self._taken[future.key] = future
        return outcome

    def result_of(self, future: AnyFuture) -> bytearray:
        """Return the packed result of a future that the journal had."""
        assert self._journal is not None and future.key is not None
        return self._journal.result_of(future.key)

    def keep(self, settled: Sequence[Settled]) -> list[Settled]:
        """Write what has finished; return it all, with an error for what cannot be written."""
        finished = [
            Finished(one.future.key, one.future.function, one.result)
            for one in settled
            if one.future.key is not None and one.result is not None and one.outcome.error is None
        ]
        if self._journal is None or not finished:
            return list(settled)
        try:
            self._journal.add(finished)
        except _core.Error as error:
            lost = {one.key for one in finished}
            failed = Outcome(error=error)
            return [
                Settled(one.future, None, failed) if one.future.key in lost else one
                for one in settled
            ]
        return list(settled)

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


def _failed(future: AnyFuture) -> bool:
    return future.cancelled() or future.exception() is not None
