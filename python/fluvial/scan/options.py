# SPDX-License-Identifier: Apache-2.0
"""How a scan reads and which ranks take part."""

from __future__ import annotations

from typing import Protocol, TypedDict

from .._core import InvalidArgument
from ..base.arguments import check_options, to_choice, to_float, to_int, wrong_type
from ..base.byte_count import to_bytes
from ..base.messages import shown
from ..describe.selection import Over
from ..mpi.communicator import Communicator
from .axis_weights import Weights
from .predicates import Condition


class Hints(Protocol):
    """An mpi4py Info, or a dict."""

    def get(self, key: str, /) -> str | int | None:
        """Return the value of a hint; None when it is not there."""


class ScanOptions(TypedDict, total=False):
    """How a scan reads and which ranks take part; every key has a default.

    Parameters
    ----------
    comm
        An mpi4py communicator; None: MPI.COMM_WORLD in a program of several ranks.
    local
        Of this rank alone, without a communicator.
    mode
        "collective": all ranks together read everything once. "independent": each rank reads its
        own selection, without messages.
    shuffle
        Of a collective scan, what the ranks ask for. "common": all the same. "to-one": each its own
        selection (without steps), of which all together are one result. "to-all": each its own, and
        each gets its own result.
    threads
        Of this rank; 0: the cores it may use, shared between the ranks of the host.
    aggregators
        Ranks that read (MPI-IO's cb_nodes); 0: chosen.
    buffer
        Bytes of a read (cb_buffer_size), e.g. "4 MiB"; None: chosen.
    read_ahead
        Bytes asked of the system before they are needed.
    memory
        Of this rank, beside results, e.g. "256 MiB"; None: 64 MiB. Where chunks are large, fewer
        threads work at once.
    reproducible
        True: the same result to the bit in every run with the same numbers of ranks and threads and
        the same buffer. Ranks and threads then do not take over each other's work, which costs time
        where cores are not equally fast. Without it the last bit of sums, and of what is made of
        them, may differ.
    stall_timeout
        Of a collective scan, seconds: when a rank is stopped, or its host cannot be reached, for
        longer, the others raise PeerStalled; 10 unless given, at least 2. ``float("inf")``: they
        wait for it. A rank that has died on the same host is a PeerLost at once, and one that ends
        its scan by an error of its own, such as KeyboardInterrupt, ends it for all.
    info
        An mpi4py Info or a dict with the hints cb_nodes, cb_buffer_size, fluvial_threads and
        fluvial_memory, whole numbers, and fluvial_reproducible, "true" or "false", for what the
        options above leave open.
    """

    comm: Communicator | None
    local: bool
    mode: str
    shuffle: str
    threads: int
    aggregators: int
    buffer: int | str | None
    read_ahead: int | str
    memory: int | str | None
    reproducible: bool
    stall_timeout: float
    info: Hints | None


class ReductionOptions(ScanOptions, total=False):
    """The same, and what counts, as for `FileDataset.reduce`."""

    skipna: bool | None
    min_count: int | None
    weights: Weights | None
    where: Condition | None
    axis: Over | None
    dim: Over | None


class CoreOptions(TypedDict):
    """The same as the core takes them; a number that is 0 is chosen there."""

    mode: str
    shuffle: str
    threads: int
    aggregators: int
    buffer_bytes: int
    read_ahead_bytes: int
    memory_bytes: int
    reproducible: bool
    stall_timeout: float


def to_core(options: ScanOptions) -> CoreOptions:
    """Return the options as the core takes them, after what the hints of `info` say."""
    check_options(options, ScanOptions.__annotations__, "of a reduction")
    info = options.get("info")
    info = {} if info is None else info
    if not hasattr(info, "get"):
        raise wrong_type("info", info, "an mpi4py Info or a dict of hints")
    keys = "fluvial_threads", "cb_nodes", "cb_buffer_size", "fluvial_memory"
    threads, aggregators, buffer, memory = (_hint(info, key) for key in keys)
    return {
        "mode": to_choice(options.get("mode", "collective"), "mode", ("collective", "independent")),
        "shuffle": to_choice(
            options.get("shuffle", "common"), "shuffle", ("common", "to-one", "to-all")
        ),
        "threads": _count("threads", options) or threads,
        "aggregators": _count("aggregators", options) or aggregators,
        "buffer_bytes": _bytes("buffer", options.get("buffer")) or buffer,
        "read_ahead_bytes": _bytes("read_ahead", options.get("read_ahead", "16 MiB")),
        "memory_bytes": _bytes("memory", options.get("memory")) or memory,
        "reproducible": bool(options.get("reproducible", _truth(info, "fluvial_reproducible"))),
        "stall_timeout": to_float(options.get("stall_timeout", 10.0), "stall_timeout"),
    }


def _count(option: str, options: ScanOptions) -> int:
    return to_int(options.get(option, 0), option, 0, 2**31 - 1)


def _bytes(option: str, size: int | str | None) -> int:
    number = to_bytes(size, option)
    if abs(number) >= 2**63:
        raise InvalidArgument(
            f"{option} is out of range: got {shown(size)}; allowed: less than 2^63 bytes"
        )
    return number


def _hint(info: Hints, key: str) -> int:
    """Return the value of a hint; 0 when it is not there."""
    value = info.get(key)
    if value is None:
        return 0
    try:
        most = 2**31 if key in ("cb_nodes", "fluvial_threads") else 2**63
        if 0 < (number := int(value)) < most:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidArgument(
        f"hint {key} makes no sense: got {shown(value)}; allowed: a whole number from 1 on. "
        "Leave it out: it is chosen."
    )


def _truth(info: Hints, key: str) -> bool:
    """Return the value of a hint; False when it is not there."""
    value = info.get(key)
    words = {"true": True, "1": True, "false": False, "0": False}
    if value is None or (word := str(value).lower()) in words:
        return value is not None and words[word]
    raise InvalidArgument(f"hint {key} makes no sense: got {value!r}; allowed: true, false")
