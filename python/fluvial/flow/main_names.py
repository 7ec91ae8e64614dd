# SPDX-License-Identifier: Apache-2.0
"""Names of the main program on a worker: what functions that are sent by value find there.

cloudpickle gives the functions of one message a dict of their own, with the names that they use. In
a pool all functions of the main program that a worker meets have the same dict, as they have in the
program, so that what an initializer or a task has stored under a name is there for later tasks. A
message has the values of names one by one, as they are when it is written:

| a name                                 | the worker            |
|----------------------------------------|-----------------------|
| has not come before                    | takes the value       |
| comes with the same bytes as before    | keeps what it has now |
| comes with other bytes                 | takes the value       |
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TypeAlias, cast

Reduced: TypeAlias = tuple[object, ...]
"""What cloudpickle says of a function: how to make it, arguments, state, …, how to fill it."""
_DIGEST_BYTES = 32


class _Here(threading.local):
    """What a message is read with, in this thread."""

    names: MainNames | None = None
    read: Callable[[bytes], object] = staticmethod(pickle.loads)


_here = _Here()


def is_of_main(function: object) -> bool:
    """Tell whether the names that a function uses are those of a main program."""
    return isinstance(function, FunctionType) and function.__globals__.get("__name__") == "__main__"


class MainNames:
    """The names that functions of the main program share on a worker of one pool."""

    def __init__(self, namespace: dict[str, object] | None = None) -> None:
        self.namespace: dict[str, object] = {} if namespace is None else namespace
        self._came: dict[str, bytes] = {}  # the last value of each name, or its digest

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Have functions share these names that this thread reads meanwhile."""
        before, _here.names = _here.names, self
        try:
            yield
        finally:
            _here.names = before

    def take(self, values: dict[str, bytes]) -> None:
        """Set the names whose values have changed since they last came."""
        with self.in_use():
            for name, written in values.items():
                digest = written
                if len(written) > _DIGEST_BYTES:
                    digest = hashlib.blake2b(written, digest_size=_DIGEST_BYTES).digest()
                if self._came.get(name) != digest:
                    self.namespace[name] = _here.read(written)
                    self._came[name] = digest


class SentNames:
    """The names whose values one message has.

    Parameters
    ----------
    write
        Returns the bytes of a value, and what the functions in it use; None for a message that is
        such a value itself, whose names are `found` and written beside it.
    """

    def __init__(self, write: Callable[[object], tuple[bytes, dict[str, object]]] | None) -> None:
        self.found: dict[str, object] = {}
        self._write = write
        self._sent: set[str] = set()

    def reduced(self, reduced: Reduced) -> Reduced:
        """Return what is written of a function of the main program instead of `reduced`."""
        make, arguments, state, _, _, fill = reduced
        _, slots = cast("tuple[object, dict[str, dict[str, object]]]", state)
        known, slots["__globals__"] = slots["__globals__"], {}
        told = fill, state, self._values(known)
        return make_in_main, (make, arguments), told, None, None, fill_in_main

    def _values(self, known: dict[str, object]) -> dict[str, bytes]:
        if self._write is None:
            self.found.update(known)
            return {}
        values: dict[str, bytes] = {}
        left = dict(known)
        while left:
            name, value = left.popitem()
            if name not in self._sent:
                self._sent.add(name)
                try:
                    values[name], further = self._write(value)
                except Exception:
                    if _here.names is None:
                        raise
                    continue  # a result of a worker, whose names may stand for what stays there
                left.update(further)
        return dict(reversed(values.items()))  # first what others call when they are read


@contextlib.contextmanager
def reading(read: Callable[[bytes], object]) -> Iterator[None]:
    """Have this thread read values of names by this function meanwhile."""
    before, _here.read = _here.read, read
    try:
        yield
    finally:
        _here.read = before


def make_in_main(make: Callable[..., FunctionType], arguments: tuple[object, ...]) -> FunctionType:
    """Make a function as cloudpickle does, with the names that it is to share."""
    code, message_names, *rest = arguments
    if _here.names is None:
        return make(code, message_names, *rest)
    namespace = _here.names.namespace
    assert isinstance(message_names, dict)
    for name, value in message_names.items():  # __name__, __file__ and the like
        namespace.setdefault(name, value)
    return make(code, namespace, *rest)


def fill_in_main(
    function: FunctionType, told: tuple[Callable[..., object], object, dict[str, bytes]]
) -> None:
    """Do what cloudpickle does with a new function, and take the values of names."""
    fill, state, values = told
    names = _here.names
    if names is None:
        names = MainNames(function.__globals__)
    names.take(values)
    fill(function, state)
