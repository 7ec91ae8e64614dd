# SPDX-License-Identifier: Apache-2.0
"""Streams inside one MPI job, with NumPy arrays as elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument, Pending, WrongType, declared_by
from .._core import Operator as NativeOperator
from ..base.arguments import ndim_max, to_bool, to_choice, to_float, to_int, to_text
from ..base.messages import did_you_mean, shown
from ..compute.passes import Results, refuse_repeats
from ..compute.registry import Reduced, Resolved, resolve
from ..compute.specs import Specs, name_specs, wrap_results
from ..describe.selection import Over
from .element import Element, Elements, record

Function = Callable[[np.ndarray], object] | Callable[[list[np.ndarray]], object]
"""What is called with each batch of elements."""

_AXES = {"producer": 0, "element": 1}
_PIECE_BYTES = 256 * 1024  # of strided elements that are made contiguous in one go


class Batch(NamedTuple):
    """Elements side by side of one producer, in the order in which it sent them."""

    producer: int
    """Its rank in the channel."""
    elements: Elements
    """A read-only array of shape ``(elements, *shape)``, or a list of uint8 arrays where elements
    vary in size. It is the stream's own memory until the next call on the stream: keep copies."""


class QueryResult(NamedTuple):
    """The result of a stream while it runs."""

    result: Reduced
    """As `Stream.result` gives it."""
    elements: int
    """How many it is made of, of all producers and consumers."""


class Inquiry:
    """A query under way; made by `Stream.iquery`. It may be left alone at any time."""

    def __init__(
        self, core: _core.Inquiry, finish: Callable[[tuple[int, Results]], QueryResult]
    ) -> None:
        self._core = core
        self._finish = finish

    def test(self) -> bool:
        """Tell whether the result is here. Makes progress in the channel, and does not block."""
        return self._core.test()

    def wait(self) -> QueryResult:
        """Return the result. Blocking."""
        return self._finish(self._core.wait())


def _axes(over: Over | None) -> list[int]:
    if over is None:
        return []
    several = isinstance(over, Sequence | np.ndarray) and not isinstance(over, str)
    words: list[object] = list(over) if several else [over]  # type: ignore[arg-type]
    unknown = [word for word in words if isinstance(word, str) and word not in _AXES]
    if unknown or not words:
        raise InvalidArgument(
            f"not an axis of a stream: got {shown(unknown or over)}; allowed: 'producer' (0), "
            "'element' (1), and the numbers of the element's axes, from 2 on. Leave "
            "`over` out to reduce over all."
        )
    return [
        _AXES[word]
        if isinstance(word, str)
        else to_int(word, "an axis of a stream", -ndim_max, ndim_max)
        for word in words
    ]


def _is_function(op: object) -> bool:
    """Whether `op` is called with batches, as neither names nor operators are."""
    known = isinstance(op, str | type | Mapping | Sequence | NativeOperator)
    return callable(op) and not known and not hasattr(op, "identity")


def _raw(array: np.ndarray) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class Stream:
    """A typed flow of elements from the producers of a channel to its consumers.

    Made by `Channel.stream`. Every element is processed exactly once. Elements of one producer
    reach a consumer in the order in which they were sent; between producers there is no order.
    Blocking calls process what arrives for this rank in the meantime.
    """

    def __init__(
        self,
        channel: _core.Channel,
        name: str,
        *,
        dtype: npt.DTypeLike,
        shape: int | Sequence[int],
        bytes_max: int | None,
        op: Specs | Function | None,
        over: Over | None,
        buffer_bytes: int,
        association: str | Callable[[np.ndarray], int],
        key: str | None,
        result_on_producers: bool,
        latency: float,
    ) -> None:
        self._specs: Specs | None = None
        self._operators: dict[str, Resolved] = {}

        def prepare() -> dict[str, object]:
            """Return what the core needs; what this raises is raised on all ranks."""
            self._element = Element(dtype, shape, bytes_max)
            callback, declared = None, "a function"
            if _is_function(op):
                callback = self._function(cast(Function, op))
                if getattr(op, "version", None) is not None:
                    declared = declared_by(op)
            elif op is not None:
                self._specs = specs = cast(Specs, op)
                self._operators = {n: resolve(spec) for n, spec in name_specs(specs).items()}
                refuse_repeats(
                    self._operators,
                    "a stream, which passes once",
                    "Or write the elements to a stage or a file, and reduce those.",
                )
                self._check_operators()
            axes = _axes(over)
            return {
                "name": to_text(name, "the name of the stream"),
                "dtype": self._element.core_dtype,
                "shape": self._element.shape,
                "element_type": str(self._element),
                "bytes": self._element.bytes,
                "varies": self._element.varies,
                "entries": [(n, o, axes) for n, o in self._operators.items()] or None,
                "callback": callback,
                "declared": declared,
                "buffer_bytes": to_int(buffer_bytes, "buffer_bytes", 0),
                "association": self._association(association, key, len(channel.consumers)),
                "result_on_producers": to_bool(result_on_producers, "result_on_producers"),
                "latency": to_float(latency, "latency"),
            }

        self._core = _core.Stream(channel, prepare)

    @property
    def name(self) -> str:
        """Of the stream."""
        return self._core.name

    @property
    def dtype(self) -> np.dtype:
        """Of an element."""
        return self._element.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an element."""
        return self._element.shape

    # Producers ------------------------------------------------------------------------------------

    def send(self, data: npt.ArrayLike) -> None:
        """Send one element, or many along a further leading axis.

        Blocking while the buffer is full; then the memory may be reused. Arrays need the stream's
        dtype; numbers and lists are converted. Where elements vary in size: bytes, one element.

        Raises
        ------
        InvalidArgument
            Another dtype or shape, no producer, or after `terminate`.
        """
        if self._element.varies:
            self._core.send_record(record(data))
            return
        array, count = self._element.arrays(data)
        if array.flags.c_contiguous or count < 2:
            self._core.send(_raw(array), count)
            return
        step = max(_PIECE_BYTES // self._element.bytes, 1)
        for begin in range(0, count, step):
            part = array[begin : begin + step]
            self._core.send(_raw(part), len(part))

    def isend(self, data: npt.ArrayLike) -> Pending:
        """Send without blocking: leave the array unchanged until the `Pending` is complete.

        It has ``test()`` and ``wait()``, and the stream keeps the array (or the bytes) alive.
        """
        if self._element.varies:
            return self._core.isend_record(record(data))
        array, count = self._element.arrays(data)
        return self._core.isend(_raw(array), count)

    def reserve(self, count: int = 1) -> np.ndarray:
        """Return room for elements in the stream's own memory, to be filled and then committed.

        The array has shape ``(n, *shape)`` with ``1 <= n <= count``, as many as lie side by side.
        It ends with `commit`. Blocking while the buffer is full.
        """
        if self._element.varies:
            return self._core.reserve_record(to_int(count, "count", 0))
        raw = self._core.reserve(to_int(count, "count", 0))
        if raw.size % self._element.bytes:
            self._core.commit(0)
            raise InvalidArgument(
                f"an element travels in parts: got {self._element.bytes} bytes; allowed: up to "
                "256 KiB. Use send."
            )
        return self._element.view(raw)

    def commit(self, count: int = 1) -> None:
        """Send the first `count` elements of the room that was reserved; 0 gives it back."""
        self._core.commit(to_int(count, "count", 0))

    def flush(self) -> None:
        """Send off what is still collected for messages. Blocking."""
        self._core.flush()

    def terminate(self) -> None:
        """Send no more from this rank. Blocking until its elements have left its memory."""
        self._core.terminate()

    def iterminate(self) -> Pending:
        """Terminate without blocking."""
        return self._core.iterminate()

    def query(self) -> QueryResult:
        """Return the global result so far, and how many elements it is made of. Blocking.

        Consumers serve queries before they process further elements, also when they have reached
        their end. Costs a message to and from each of them.

        Raises
        ------
        InvalidArgument
            An operator has no result yet, such as the maximum of no integer.
        """
        return self._query_result(self._core.query())

    def iquery(self) -> Inquiry:
        """Ask for the global result so far without blocking."""
        return Inquiry(self._core.iquery(), self._query_result)

    # Consumers ------------------------------------------------------------------------------------

    def operate(self) -> None:
        """Process elements until all producers have terminated and the result is there. Blocking.

        What a function of the stream raises is raised here, and as an error on all other ranks.
        """
        self._core.operate()

    def operate_some(self, bytes_max: int = 1 << 20) -> int:
        """Process what is there, about `bytes_max` at most, and return the number of bytes.

        Does not block, and goes on to the end of the stream when the time has come.
        """
        return self._core.operate_some(to_int(bytes_max, "bytes_max", 0))

    def batches(self) -> Iterator[Batch]:
        """Iterate over what arrives until the end of the stream, with the producers' ranks.

        For streams without `op`. The arrays end with the next turn: keep copies.
        """
        while (found := self._core.next()) is not None:
            yield Batch(found[0], self._element.lent(found[2]))

    def __iter__(self) -> Iterator[Elements]:
        """Iterate over the arrays of `batches`."""
        for batch in self.batches():
            yield batch.elements

    def try_next(self) -> Batch | None:
        """Return the next batch; None when there is nothing now, or at the end (see `ended`)."""
        found = self._core.try_next()
        if found is None or found[2] is None:
            return None
        return Batch(found[0], self._element.lent(found[2]))

    # Both -----------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether all producers have terminated, and everything was processed."""
        return self._core.ended

    @property
    def stats(self) -> dict[str, int | float]:
        """What this rank has done in the stream so far: see the guide to streams."""
        return self._core.stats

    def result(self) -> Reduced:
        """Return the global result: one, a list or a dict, as the operators were given.

        Blocking until the stream has ended. On consumers, and on producers with
        `result_on_producers`. None for a stream without operators.
        """
        return self._wrap(self._core.result())

    def _wrap(self, results: Results) -> Reduced:
        if self._specs is None:
            return None
        return wrap_results(self._specs, self._operators, results)

    def _query_result(self, found: tuple[int, Results]) -> QueryResult:
        elements, results = found
        return QueryResult(self._wrap(results), elements)

    def _function(self, function: Function) -> Callable[[int, np.ndarray], None]:
        element = self._element
        called = cast("Callable[[Elements], object]", function)

        def work(producer: int, raw: np.ndarray) -> None:
            called(element.lent(raw))

        return work

    def _check_operators(self) -> None:
        if self._element.core_dtype is None or self._element.varies:
            raise InvalidArgument(
                f"operators work on numbers: got {self._element}; allowed: int8 to int64, uint8 to "
                "uint64, float16 to float64, complex64, complex128. Pass a function of batches."
            )

    def _association(
        self, association: str | Callable[..., int], key: str | None, consumers: int
    ) -> object:
        if key is None:
            if not callable(association):
                return to_choice(
                    association, "association", ("nearest", "round_robin", "most_room")
                )
            element = self._element

            def choose(raw: npt.NDArray[np.uint8]) -> int:
                chosen = association(raw if element.varies else element.view(raw)[0])
                return consumer_number(chosen, consumers)

            return choose
        fields: Mapping[str, tuple[np.dtype, int] | tuple[np.dtype, int, object]] = (
            self.dtype.fields or {}
        )
        if not isinstance(key, str) or key not in fields or association != "nearest":
            raise InvalidArgument(
                f"not a key of the elements: got {shown(key)} with association "
                f"{shown(association)}; "
                f"allowed: {', '.join(fields) or 'fields, which this dtype has none of'}, alone"
                f"{did_you_mean(key, fields)}"
            )
        dtype, offset = fields[key][:2]
        number = dtype.base
        if number.kind in "fc" and number.type not in (np.longdouble, np.clongdouble):
            real = number.itemsize // (2 if number.kind == "c" else 1)
            sign_at = 0 if number.str[0] == ">" else real - 1
            return int(offset), dtype.itemsize, real, sign_at
        if number.kind not in "biuSUmM":
            raise InvalidArgument(
                f"not a key of the elements: got {shown(key)}, which is of {shown(number)}; "
                "allowed: a field of integers, of floating-point numbers of up to 8 bytes, of "
                "times, or of text. Others have bytes that mean nothing, in which equal keys differ"
            )
        return int(offset), dtype.itemsize


def consumer_number(chosen: object, consumers: int) -> int:
    """Return which consumer an association means.

    >>> consumer_number(np.int8(-1), 3)
    2
    """
    try:
        return int(chosen) % consumers  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise WrongType(
            f"the association of a stream gave no number of a consumer: got {shown(chosen)}; "
            f"allowed: a whole number, which is taken modulo {consumers}"
        ) from None
