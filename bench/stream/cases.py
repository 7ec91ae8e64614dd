# SPDX-License-Identifier: Apache-2.0
"""What is measured: the contestants, the cases, and what is expected of Fluvial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SEED, SEND, WINDOW, PING, MEMCPY = "seed", "send-recv", "windowed", "ping-pong", "memcpy"
# WINDOW moves bytes alone; here the consumer works on each element, as that of a stream does.
WINDOW_WORKED = "windowed-worked"
PEERS = {
    SEED: "the paper's scheme",
    SEND: "Send/Recv",
    WINDOW: "one-way MPI, window 64",
    WINDOW_WORKED: "window 64, worked on",
    PING: "ping-pong",
    MEMCPY: "memcpy",
}
# The work of both sides in memory of their own, with no exchange: what the cores can do at most.
LIMIT, LIMIT_NAME = "limit", "bare work"
# Two counters, one copy, and the work where the elements lie: the limit of a stream through shared
# memory.
BARE_RING, BARE_RING_NAME = "bare-ring", "bare ring, worked on"
# One core writes past the caches and the other reads from memory, with no exchange: about the limit
# of cores that share no cache; others are faster.
PAST_CACHES, PAST_CACHES_NAME = "past-caches", "past the caches, no exchange"
# Messages that are on their way all the time, and are worked on where they come: the limit of a
# stream by messages, which has credits, queries and an end besides.
BARE_MESSAGES, BARE_MESSAGES_NAME = "bare-messages", "bare messages, worked on"
# Which memory is best depends on the caches, so each takes part with several sizes, in KiB, and the
# best of them counts: within a second-level cache, about as large, and beyond.
VARIANTS: Mapping[str, tuple[str, ...]] = {
    exchange: tuple(f"{exchange}/{kibibytes}" for kibibytes in (512, 1024, 4096))
    for exchange in (BARE_RING, BARE_MESSAGES)
}
# How elements are given (a call each, many a call, in place), and taken (each, batches).
WAYS = ("put-each", "put-batch", "many-each", "many-batch", "place-batch")
MESSAGE_WAYS = tuple(f"{way}/messages" for way in ("put-each", "put-batch", "many-batch"))
SAME_NODE, BETWEEN = "same node", "between nodes"
PATHS: dict[str, tuple[str, ...]] = {SAME_NODE: WAYS, BETWEEN: MESSAGE_WAYS}
DEFAULT_WAY = "put-batch"
# The bare exchanges beside each path, which are about its limit.
BARE_EXCHANGES: Mapping[str, tuple[str, ...]] = {
    SAME_NODE: (BARE_RING, PAST_CACHES, LIMIT),
    BETWEEN: (BARE_MESSAGES,),
}
NAMES = PEERS | {
    BARE_RING: BARE_RING_NAME,
    PAST_CACHES: PAST_CACHES_NAME,
    BARE_MESSAGES: BARE_MESSAGES_NAME,
    LIMIT: LIMIT_NAME,
}

KERNELS = ("copy", "scale", "add", "triad")
NEAR, FAR = "near", "far"
_FAR_FROM_NS = 120.0  # two cores that share a cache take 30 to 70 ns one way, others 150 to 300


def turns_of(who: Iterable[str]) -> list[str]:
    """Return what takes turns for these contestants: their variants, where there are any."""
    return [variant for one in who for variant in VARIANTS.get(one, (one,))]


def state_of(one_way_ns: float) -> str:
    """Return whether two cores that need this time for a cache line are near or far."""
    return FAR if one_way_ns >= _FAR_FROM_NS else NEAR


@dataclass(frozen=True)
class Case:
    """One set of turns: everything that is equal for all contestants."""

    experiment: str
    mpi: str
    doubles: int = 512
    kernel: str = "scale"
    producers: int = 1
    consumers: int = 1
    flops: int = 0
    machine: str = ""  # simulated
    away: str = ""  # how the consumer is busy: INSIDE or OUTSIDE
    placement: str = ""  # APART, or else ranks are dealt to the cores in turn

    @property
    def bytes(self) -> int:
        """The size of an element."""
        return 8 * self.doubles

    @property
    def ranks(self) -> int:
        """All ranks of the job."""
        return self.producers + self.consumers

    @property
    def params(self) -> dict[str, Any]:
        """The case as a record has it: what an experiment varies is named for its axis."""
        named: dict[str, Any] = {"mpi": self.mpi, "doubles": self.doubles, "bytes": self.bytes}
        named |= {"kernel": self.kernel, "ranks": [self.producers, self.consumers]}
        axes: dict[str, dict[str, Any]] = {
            PRODUCERS: {
                "producers": self.producers / self.consumers,
                "placement": self.placement,
            },
            MEMORY: {"producers": self.producers / self.consumers, "busy": self.away},
            FLOPS: {"flops": self.flops},
            SCALING: {"pairs": self.consumers},
            SIMULATED: {"pairs": self.consumers, "machine": self.machine},
        }
        if self.experiment not in (SIZES, ANEW):
            named["element"] = named.pop("bytes")
        return named | axes.get(self.experiment, {})

    def words(self) -> dict[str, Any]:
        """Return the words that tell the program all this."""
        return {
            "doubles": self.doubles,
            "kernel": self.kernel,
            "consumers": self.consumers,
            "flops": self.flops,
            "changes": int(self.experiment == ANEW),
            "apart": int(self.placement == APART),
            **({"calls_mpi": int(self.away == INSIDE)} if self.away else {}),
        }


# A consumer that computes never calls MPI, or does so all the time: MPI takes messages in then.
INSIDE, OUTSIDE = "in MPI", "computing"
# Which rank has which core where there are more ranks than cores.  Only the first compares equal
# with equal: with one producer, too, the consumer has a core of its own.
APART, DEALT = "consumer on a core of its own", "ranks dealt to the cores"
SIZES, STREAM, PRODUCERS, FLOPS = "element size", "kernels", "producers", "FLOPs"
# Elements that the producer writes before it gives each.  Others never change, so that a consumer
# whose MPI reads them in the producer's memory finds them in its own caches.
ANEW = "elements made anew"
MEMORY, SCALING, SIMULATED = "memory", "scaling", "scaling, simulated"


@dataclass(frozen=True)
class Expectation:
    """The least ratio to a peer that is expected for elements of `low` to `high` bytes."""

    path: str
    peer: str
    ratio: float
    low: int
    high: int = 2**62


EXPECTED = (
    Expectation(SAME_NODE, SEED, 25.0, 8, 8),
    Expectation(SAME_NODE, SEED, 20.0, 64, 64),
    Expectation(SAME_NODE, SEED, 10.0, 512, 512),
    Expectation(SAME_NODE, SEED, 3.5, 4096, 4096),
    Expectation(SAME_NODE, SEED, 2.5, 2**16, 2**20),
    Expectation(SAME_NODE, SEED, 2.0, 2**24),
    *(Expectation(SAME_NODE, peer, 1.0, 8, 2**15) for peer in (SEND, WINDOW)),
    *(Expectation(SAME_NODE, peer, 1.5, 2**16) for peer in (SEND, WINDOW)),
    Expectation(SAME_NODE, WINDOW_WORKED, 1.3, 2**16, 2**20),
    Expectation(SAME_NODE, BARE_RING, 0.95, 2**16, 2**20),
    Expectation(BETWEEN, SEED, 25.0, 8, 8),
    Expectation(BETWEEN, SEED, 9.0, 64, 64),
    Expectation(BETWEEN, SEED, 2.5, 512, 512),
    Expectation(BETWEEN, SEED, 0.95, 4096),
    Expectation(BETWEEN, BARE_MESSAGES, 0.95, 2**16, 2**20),
)
EXPECTED_ANEW = (
    Expectation(SAME_NODE, WINDOW, 1.3, 2**16, 2**20),
    Expectation(SAME_NODE, BARE_RING, 0.95, 2**16, 2**20),
    Expectation(BETWEEN, BARE_MESSAGES, 0.95, 2**16, 2**20),
)
# Elements of 8 bytes a second, in millions, by how they are taken.
EXPECTED_MILLIONS: Mapping[str, float] = {"batch": 200.0, "each": 100.0}
NO_DIP = 2.0  # the rate with the most producers a consumer, against one; placed APART
MPI_BYTES = 2**23  # that a consumer's MPI may take besides the configured limit
EFFICIENCY = 0.9  # of the most simulated pairs, against the fewest
