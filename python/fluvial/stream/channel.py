# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers inside one MPI job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.arguments import to_bool, to_float, to_path
from ..base.messages import said_of
from ..compute.specs import Specs
from ..describe.selection import Over
from ..mpi.communicator import Communicator, handle_of
from .stream import Function, Stream
from .threshold import Judge, Merge, State, Threshold


class Channel:
    """A group of producers and consumers in one MPI job, which streams are attached to.

    Use it in a ``with`` statement: leaving it ends all streams (producers terminate, consumers
    process what is left); an exception ends them with an error on all ranks instead. Messages of
    the application are never touched. Source: "A Data Streaming Model in MPI",
    doi:10.1145/2831129.2831131.

    When a rank fails (its operation raises, or it dies or is stopped on a host from which the
    channel is called), every call on every rank raises that failure from then on. One thread
    at a time for all streams of a channel: a call during another thread's call, `close` included,
    is InvalidArgument.

    Parameters
    ----------
    comm
        An mpi4py communicator, which is duplicated. Collective over it. None: a serial program.
    producer
        Whether this rank sends.
    consumer
        Whether this rank processes what others send. A rank may be both, or neither.
    shared_memory
        Between ranks of one host; False: messages everywhere.
    timeout
        A blocking call without any progress for so many seconds raises TimedOut.
    stall_timeout
        A rank of this host that is stopped for so many seconds (SIGSTOP, a debugger) raises
        PeerStalled on all ranks; 0.2 at least, ``float("inf")`` for never. It is no limit on what a
        rank computes, for a thread shows that its process runs. Ranks on other hosts are seen by
        their neighbours alone, which tell the others.
    trace_file
        Path of a trace in Chrome's and Perfetto's format, written at the end.

    Raises
    ------
    InvalidArgument
        On all ranks, without a producer or without a consumer, or when an argument is wrong on
        any, or options differ.

    Examples
    --------
    A rank that is both, which is all that there is without MPI:

    >>> import numpy as np, fluvial as fl
    >>> with fl.Channel(None, producer=True, consumer=True) as channel:
    ...     energies = channel.stream("energies", op=["max", "mean"])
    ...     energies.send(np.arange(5.0))
    ...     energies.terminate()
    ...     high, mean = energies.result()
    >>> float(high), float(mean)
    (4.0, 2.0)
    """

    def __init__(
        self,
        comm: Communicator | None,
        *,
        producer: bool = False,
        consumer: bool = False,
        shared_memory: bool = True,
        timeout: float = 1e9,
        stall_timeout: float = 10.0,
        trace_file: str = "",
    ) -> None:

        def prepare() -> dict[str, object]:
            return {
                "producer": to_bool(producer, "producer"),
                "consumer": to_bool(consumer, "consumer"),
                "shared_memory": to_bool(shared_memory, "shared_memory"),
                "timeout": to_float(timeout, "timeout"),
                "stall_timeout": to_float(stall_timeout, "stall_timeout"),
                "trace_file": to_path(trace_file, "trace_file"),
            }

        self._core = _core.Channel(handle_of(comm), prepare)
        self.producer = bool(producer)
        """Whether this rank sends."""
        self.consumer = bool(consumer)
        """Whether this rank processes."""

    @property
    def rank(self) -> int:
        """Number of this rank among those that are producers or consumers; -1 for others."""
        return self._core.rank

    @property
    def size(self) -> int:
        """How many ranks are producers or consumers."""
        return self._core.size

    @property
    def producers(self) -> list[int]:
        """Their ranks in the channel."""
        return self._core.producers

    @property
    def consumers(self) -> list[int]:
        """Their ranks in the channel."""
        return self._core.consumers

    def stream(
        self,
        name: str = "",
        *,
        dtype: npt.DTypeLike = "float64",
        shape: int | Sequence[int] = (),
        bytes_max: int | None = None,
        op: Specs | Function | None = None,
        over: Over | None = None,
        buffer_bytes: int = 0,
        association: str | Callable[[np.ndarray], int] = "nearest",
        key: str | None = None,
        result_on_producers: bool = False,
        latency: float = 1e-3,
    ) -> Stream:
        """Attach a stream. Collective over producers and consumers, with equal arguments.

        Two functions cannot be compared. Consumers may have different ones as `op`, unless they
        declare themselves: where the function has an attribute `version`, its name and version must
        be the same on all. Operators of your own are known by their name and version, too.

        Parameters
        ----------
        name
            In errors, statistics and traces; "stream 0" and so on by default.
        dtype, shape
            Of one element. The dtype may have fields, as a record of a particle.
        bytes_max
            Instead of dtype and shape: elements are `bytes` of varying length, up to this.
        op
            What the consumers do. A name such as "mean", an operator of `fluvial.ops`, a list or a
            dict of them: `result()` gives what they come to. A function: it is called with each
            batch, an array of shape ``(elements, *shape)`` that is lent for the call (of varying
            elements, a list of uint8 arrays). None: iterate over the stream.
        over
            Axes that operators reduce; the others are kept. They count as those of an array of
            shape ``(producers, elements, *shape)``: axis 0 is "producer", the sender's rank in the
            channel, axis 1 is "element", its number among those that this producer sent to this
            consumer, and cannot be kept; 2 and up are the element's own. None: all. Coordinates of
            results (argmax) are meant so, too.
        buffer_bytes
            Memory for elements at each consumer, all its producers together; a producer waits while
            it is full. 0: 4 MiB a producer (without shared memory 2 MiB on one host, else half a
            MiB), room for four elements at least, 64 MiB in all where that does.
        association
            Which consumer an element goes to. "nearest": each producer has one, on its own host
            where possible; "round_robin": to all in turn; "most_room": to one that has room, so
            that slow consumers get less; a function of an element that returns a number: to the
            consumer of this number, modulo how many there are.
        key
            Instead of `association`, a field of the dtype: elements that are equal in it meet on
            one consumer.
        result_on_producers
            `result()` works there, too.
        latency
            An idle producer's elements are under way after so many seconds. By messages (between
            hosts) where MPI has less than MPI_THREAD_MULTIPLE, which is not mpi4py's way, no
            thread may send for it: what follows another element within this time then lies until
            the rank's next call. Call `flush` before a long computation there.

        Raises
        ------
        InvalidArgument
            On all ranks, when an argument is wrong on any or they differ.
        """
        return Stream(
            self._core,
            name,
            dtype=dtype,
            shape=shape,
            bytes_max=bytes_max,
            op=op,
            over=over,
            buffer_bytes=buffer_bytes,
            association=association,
            key=key,
            result_on_producers=result_on_producers,
            latency=latency,
        )

    def threshold(
        self,
        limit: float | None = None,
        *,
        judge: Judge[State] | None = None,
        merge: Merge[State] | None = None,
        rounds_ahead: int = 1024,
    ) -> Threshold:
        """Begin a threshold collective. Collective over producers and consumers.

        Parameters
        ----------
        limit
            The verdict is whether the sum of what all producers contribute exceeds it: True as soon
            as a partial sum does, False when all have contributed.
        judge
            Instead: called with the merged contributions, their number and that of the producers;
            returns the verdict if no further contributions can change it, else None. When all have
            contributed, None counts as False.
        merge
            With `judge`: what two contributions make together. Associative and commutative.
            Contributions are any objects; they travel by pickle.
        rounds_ahead
            So many rounds a producer may be ahead of the slowest; then it waits.

        Raises
        ------
        InvalidArgument
            On all ranks, when an argument is wrong on any, or limits differ; functions of consumers
            are compared by their name and their attribute `version`.

        Examples
        --------
        >>> import fluvial as fl
        >>> with fl.Channel(None, producer=True, consumer=True) as channel:
        ...     too_large = channel.threshold(1e-3)
        ...     error = 1.0
        ...     while too_large.contribute(error):
        ...         error /= 10
        >>> error
        0.001
        """
        return Threshold(self._core, limit, judge, merge, rounds_ahead)

    def progress(self) -> bool:
        """Process what is there for this rank, in all streams. Local, does not block.

        Returns whether anything happened.
        """
        return self._core.progress()

    def close(self) -> None:
        """End every stream and free everything. Collective over those that take part."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._core.abandon(said_of(error))
