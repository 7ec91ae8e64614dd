# SPDX-License-Identifier: Apache-2.0
"""Counts what each rank and host has to do in a step; nothing runs.

Which rank reads what is not modelled: `fluvial.distribute.assign` is asked, as a reader's
``step.mine`` asks it. The rest follows from the protocol: a reader rank keeps a connection to each
of the writer's hosts and gets a message of each step from each, and opens a second connection to
those from which it reads. What lies on its own host it finds in shared memory.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

import fluvial as fl

WRITERS_A_HOST, READERS_A_HOST = 6, 2
RANKS_A_HOST = WRITERS_A_HOST + READERS_A_HOST
_ELEMENTS = 1_000_000
_ITEM_BYTES = 8
# Of the message of a step, as remote_messages.hpp has it: what each message has (number,
# statistics, cipher), what a rank of the writer adds, and a chunk of one dataset.
_MESSAGE_BYTES, _RECORD_BYTES, _CHUNK_BYTES = 150, 60, 40
# A description of so many bytes is fetched by one rank of a host for all (step_messages.cpp).
_FETCHED_BYTES_MIN = 64 * 1024
DATASETS = 1000
"""Of a step with a long description."""


@dataclass(frozen=True)
class Counted:
    """Of one step, by a strategy; the greatest of all ranks or hosts."""

    control_of_reader: int
    """Connections for messages that a reader rank has: as many messages does it get of a step."""
    control_of_host: int
    """The same, of a host of the writer: as many messages does it send of a step."""
    data_of_reader: int
    """Hosts that a reader rank reads from, beside its own."""
    data_of_host: int
    """Reader ranks that read from a host of the writer."""
    described_bytes: int
    """Bytes of messages that a host of the writer sends of a step."""
    described_long_bytes: int
    """The same where each writer puts a chunk of each of `DATASETS` datasets."""
    gathered_bytes: int
    """What that would be with one message to each reader host, passed on down a binary tree."""
    bytes_of_reader: int
    """Of data, of the reader rank that has most."""
    off_host: float
    """Share of all data that leaves the host on which it was written."""


def chunks_of(ranks: int, seed: int = 2021) -> tuple[list[tuple], list[str]]:
    """Return what writers put, of sizes that differ by a tenth, and the places of the readers."""
    chance = random.Random(seed)
    hosts = max(1, ranks // RANKS_A_HOST)
    chunks, start = [], 0
    for rank in range(hosts * WRITERS_A_HOST):
        elements = int(_ELEMENTS * chance.uniform(0.9, 1.1))
        chunks.append(((start,), (elements,), rank, f"n{rank // WRITERS_A_HOST}"))
        start += elements
    readers = [f"n{rank // READERS_A_HOST}" for rank in range(hosts * READERS_A_HOST)]
    return chunks, readers


def count(chunks: list[tuple], readers: list[str], strategy: str) -> Counted:
    """Assign the chunks, and count."""
    made = fl.distribute.assign(chunks, readers, strategy, itemsize=_ITEM_BYTES)
    hosts = len(set(readers))
    data_of_host: dict[str, int] = defaultdict(int)
    data_of_reader = bytes_of_reader = off_host = 0
    for place, share in zip(readers, made.shares, strict=True):
        elsewhere = {chunks[piece.chunk][3] for piece in share} - {place}
        data_of_reader = max(data_of_reader, len(elsewhere))
        for host in elsewhere:
            data_of_host[host] += 1
        mine = sum(piece.extent[0] for piece in share)
        bytes_of_reader = max(bytes_of_reader, mine * _ITEM_BYTES)
        off_host += sum(p.extent[0] for p in share if chunks[p.chunk][3] != place)
    all_records = _MESSAGE_BYTES + len(chunks) * (_RECORD_BYTES + _CHUNK_BYTES)
    remote_readers = len(readers) - READERS_A_HOST
    return Counted(
        control_of_reader=hosts - 1,
        control_of_host=remote_readers,
        data_of_reader=data_of_reader,
        data_of_host=max(data_of_host.values(), default=0),
        described_bytes=_described(remote_readers, hosts - 1, 1),
        described_long_bytes=_described(remote_readers, hosts - 1, DATASETS),
        gathered_bytes=2 * all_records if hosts > 1 else 0,
        bytes_of_reader=bytes_of_reader,
        off_host=off_host / sum(chunk[1][0] for chunk in chunks),
    )


def _described(readers: int, hosts: int, datasets: int) -> int:
    """Bytes of messages from a host of the writer to readers on other hosts."""
    description = WRITERS_A_HOST * (_RECORD_BYTES + datasets * _CHUNK_BYTES)
    fetched = description >= _FETCHED_BYTES_MIN
    return readers * _MESSAGE_BYTES + (hosts if fetched else readers) * description
