# SPDX-License-Identifier: Apache-2.0
"""What a live stream says of itself, by key."""

from __future__ import annotations

from typing import TypedDict, cast

from ..stage.reader import ReadSeries


class ReaderStatus(TypedDict):
    """One reading job."""

    number: int
    ranks: int
    pid: int
    state: str
    observes: bool
    full: str
    """Its policy for a full queue, its own or the writer's."""
    steps_taken: int
    steps_discarded: int
    lag_steps: int
    lag_on_disk: int
    steps_held: int


class StreamStatus(TypedDict):
    """A stream's writer, queue and readers."""

    name: str
    host: str
    full: str
    failure: str
    writer_ranks: int
    writer_pid: int
    writers_closed: int
    steps_begun: int
    steps_written: int
    steps_discarded: int
    steps_unread: int
    steps_spoiled: int
    steps_spilled: int
    bytes_staged: int
    bytes_in_use: int
    queue_bytes: int
    queue_depth: int
    queue_steps: int
    readers: list[ReaderStatus]


def status_of(stream: ReadSeries) -> StreamStatus:
    """Return the status of a stream as of now."""
    return cast(StreamStatus, stream.status)
