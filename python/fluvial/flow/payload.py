# SPDX-License-Identifier: Apache-2.0
"""Objects as they travel between the ranks of a pool: arrays as buffers, futures by reference."""

from __future__ import annotations

import functools
import io
import pickle
import struct
from collections.abc import Callable, Sequence
from types import NotImplementedType
from typing import Any, Protocol, TypeAlias

from .. import _core
from ..base.messages import shown
from .main_names import SentNames, is_of_main, reading
from .own_classes import reduced_class
from .read_only_arrays import reduced_array

_ALIGNMENT = 16  # of what a bytearray holds
_PLAIN_HEADER = struct.Struct("<2Q")  # of one part
_IMPORT_MISSING = (
    "cannot send a function or an object of the main program to other ranks: got {}; "
    "allowed: what other ranks can import, or, with cloudpickle (`pip install cloudpickle`), "
    "anything"
)

_PLAIN = frozenset({int, float, str, bytes, bool, type(None), complex})
"""Types that pickle writes by itself, and that no reference stands for."""

Part: TypeAlias = bytes | bytearray | memoryview
"""A part of a message."""
Call: TypeAlias = tuple[bytes, tuple[object, ...], dict[str, object]]
"""A function as it is shipped, its arguments and its keyword arguments."""
Reference = Callable[[object], object]
"""Returns what stands for an object in a message, or None for an object that travels itself."""


def packed(value: object, reference: Reference = lambda _: None) -> list[Part]:
    """Return the parts of a message: pickled with protocol 5, large buffers as they lie.

    What only exists in the main program, or has no name, is sent by cloudpickle.

    Raises
    ------
    InvalidArgument
        When that is needed, and not installed.
    """
    try:
        parts = _parts(value, reference, _Pickler)
    except (pickle.PicklingError, AttributeError, TypeError):
        parts = None
    if parts is None or b"__main__" in parts[0]:
        parts = _parts(value, reference, _cloud_pickler())
    return _with_header(parts)


def pickled_by_value(thing: object) -> bytes | None:
    """Return what `pickle.loads` reads, with what has no name that others import; None: it cannot.

    That is where cloudpickle is not installed.
    """
    pickler = _cloud_pickler()
    return None if pickler is None else _pickled(thing, lambda _: None, pickler, None)


def is_plain(*values: object) -> bool:
    """Tell whether these are numbers, texts and the like, which `packed_plain` takes."""
    return all(type(value) in _PLAIN for value in values)


def packed_plain(value: object) -> list[Part]:
    """Return what `packed` does, in a tenth of the time."""
    part = pickle.dumps(value, protocol=5)
    length = len(part)
    return [_PLAIN_HEADER.pack(1, length), part, bytes(-length % _ALIGNMENT)]


def packed_call(call: Call, reference: Reference) -> list[Part]:
    """Return the message of a function, its arguments and keyword arguments."""
    _, arguments, keywords = call
    if is_plain(*arguments, *keywords.values()):
        return packed_plain(call)
    return packed(call, reference)


def unpacked(
    message: bytearray,
    referred: Callable[[int], object] | None = None,
    unpickler: type[Unpickler] | None = None,
) -> Any:
    """Return the object of a message; its arrays are writable and lie in the message's memory."""
    view = memoryview(message)
    (count,) = struct.unpack_from("<Q", view)
    if count == 1 and referred is None and unpickler is None:
        (length,) = struct.unpack_from("<Q", view, 8)
        return pickle.loads(view[16 : 16 + length])
    lengths = struct.unpack_from(f"<{count}Q", view, 8)
    offset = _padded(8 + 8 * count)
    parts = []
    for length in lengths:
        parts.append(view[offset : offset + length])
        offset += _padded(length)

    def read(written: bytes | memoryview, buffers: Sequence[memoryview] = ()) -> object:
        made = (unpickler or Unpickler)(io.BytesIO(written), buffers=buffers)
        made.referred = referred
        return made.load()

    with reading(read):
        return read(parts[0], parts[1:])


class Unpickler(pickle.Unpickler):
    """Reads the first part of a message."""

    referred: Callable[[int], object] | None = None

    def persistent_load(self, pid: int) -> object:
        """Return the result of a future that the message refers to."""
        if self.referred is None:
            raise pickle.UnpicklingError("a future in the result of a task")
        return self.referred(pid)


class _ReferringPickler(Protocol):
    reference: Reference
    names: SentNames

    def dump(self, value: object, /) -> None: ...


class _Pickler(pickle.Pickler):
    reference: Reference
    names: SentNames

    def persistent_id(self, thing: object) -> object:
        return self.reference(thing)

    def reducer_override(self, obj: object) -> Any:
        return reduced_array(obj)


@functools.cache
def _cloud_pickler() -> Callable[..., _ReferringPickler] | None:
    try:
        import cloudpickle
    except ImportError:
        return None

    class CloudPickler(cloudpickle.Pickler):
        reference: Reference
        names: SentNames

        def persistent_id(self, thing: object) -> object:
            return self.reference(thing)

        def reducer_override(self, obj: object) -> NotImplementedType | str | tuple[object, ...]:
            """Send functions of the main program without copies of its names for each.

            And classes with their qualified names, of which cloudpickle sends the last part.
            """
            if (array := reduced_array(obj)) is not NotImplemented:
                return array
            reduced = super().reducer_override(obj)
            if isinstance(reduced, tuple) and is_of_main(obj):
                return self.names.reduced(reduced)
            if isinstance(obj, type) and isinstance(reduced, tuple):
                known = reduced[1][3] if len(reduced[1]) > 3 else None
                if isinstance(known, dict) and "__module__" in known:
                    known["__qualname__"] = obj.__qualname__
                if len(reduced) == 6:
                    return reduced_class(obj, reduced)
            return reduced

    return CloudPickler


def _parts(
    value: object, reference: Reference, pickler: Callable[..., _ReferringPickler] | None
) -> list[Part]:
    if pickler is None:
        raise _core.InvalidArgument(_IMPORT_MISSING.format(shown(value)))
    buffers: list[pickle.PickleBuffer] = []
    first = _pickled(value, reference, pickler, buffers.append)
    return [first, *(buffer.raw() for buffer in buffers)]


def _pickled(
    value: object,
    reference: Reference,
    pickler: Callable[..., _ReferringPickler],
    take_buffer: Callable[[pickle.PickleBuffer], object] | None,
    names: SentNames | None = None,
) -> bytes:
    file = io.BytesIO()
    made = pickler(file, protocol=5, buffer_callback=take_buffer)
    made.reference = reference
    made.names = names or SentNames(functools.partial(_named, reference, pickler))
    made.dump(value)
    return file.getvalue()


def _named(
    reference: Reference, pickler: Callable[..., _ReferringPickler], value: object
) -> tuple[bytes, dict[str, object]]:
    """Return the bytes of a value of the main program, and the names that its functions use."""
    if is_plain(value):
        return pickle.dumps(value, protocol=5), {}
    names = SentNames(None)
    return _pickled(value, reference, pickler, None, names), names.found


def _padded(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _with_header(parts: Sequence[Part]) -> list[Part]:
    lengths = [memoryview(part).nbytes for part in parts]
    header = struct.pack(f"<{len(parts) + 1}Q", len(parts), *lengths)
    message: list[Part] = [header.ljust(_padded(len(header)), b"\0")]
    for part, length in zip(parts, lengths, strict=True):
        message.append(part)
        if padding := _padded(length) - length:
            message.append(bytes(padding))
    return message
