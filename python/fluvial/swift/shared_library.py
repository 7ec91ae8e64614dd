# SPDX-License-Identifier: Apache-2.0
"""Leaf functions in C, of shared libraries, as ranks of a pool call them.

| in the script | an input in C | an output in C |
|---|---|---|
| int | int64_t | int64_t* |
| float | double | double* |
| boolean | bool | bool* |
| string | const char* | char**, freed by free() |
| blob | const void*, int64_t: where, how many bytes | void**, int64_t*, freed by free() |

A parallel leaf gets its MPI_Comm before all others. Outputs stand behind the inputs, but the only
one of a function is what it returns, if it is an int, a float or a boolean. Then and with a return
type of void there is no way to fail; a library that has to ends the process.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, TypeAlias

from ..flow.parallel import parallel

if TYPE_CHECKING:
    from mpi4py import MPI

_Arguments: TypeAlias = tuple[str, str, list[str], list[str], list[object]]
"""Of `_call`, behind the communicator."""
_PLAIN: dict[str, type[ctypes.c_int64] | type[ctypes.c_double] | type[ctypes.c_bool]] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "boolean": ctypes.c_bool,
}


def call_library(*arguments: *_Arguments) -> object:
    """Call a serial function; see `_call`."""
    return _call(None, *arguments)


@parallel
def call_library_together(comm: MPI.Comm, *arguments: *_Arguments) -> object:
    """Call a parallel function on each rank of a team; see `_call`."""
    return _call(comm, *arguments)


def _call(
    comm: MPI.Comm | None,
    path: str,
    function: str,
    inputs: list[str],
    outputs: list[str],
    values: list[object],
) -> object:
    """Call a function of a shared library; `inputs` and `outputs` are types."""
    called = _function(path, function)
    arguments: list[object] = [] if comm is None else [_handle(comm)]
    for kind, value in zip(inputs, values, strict=True):
        arguments += _input(kind, value)
    if len(outputs) == 1 and outputs[0] in _PLAIN:
        called.restype = _PLAIN[outputs[0]]
        return called(*arguments)
    called.restype = None
    places = [_Output(kind) for kind in outputs]
    called(*arguments, *[reference for place in places for reference in place.references()])
    results = [place.value() for place in places]
    return results[0] if len(results) == 1 else tuple(results)


@functools.cache
def _library(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def _function(path: str, function: str) -> ctypes._NamedFuncPointer:
    try:
        return getattr(_library(path), function)
    except AttributeError:
        raise AttributeError(f"the library {path} has no function {function!r}") from None


def _input(kind: str, value: Any) -> list[object]:
    if kind == "string":
        return [ctypes.c_char_p(value.encode())]
    if kind == "blob":
        return [ctypes.c_char_p(value), ctypes.c_int64(len(value))]
    return [_PLAIN[kind](value)]


class _Output:
    """Where a function writes an output."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._place: ctypes.c_int64 | ctypes.c_double | ctypes.c_bool | ctypes.c_void_p
        self._place = _PLAIN.get(kind, ctypes.c_void_p)()
        self._length = ctypes.c_int64()

    def references(self) -> list[object]:
        """Return what is handed to the function."""
        more = [ctypes.byref(self._length)] if self._kind == "blob" else []
        return [ctypes.byref(self._place), *more]

    def value(self) -> object:
        """Return what it has written, and free it."""
        if not isinstance(self._place, ctypes.c_void_p):
            return self._place.value
        address = self._place.value
        if address is None:
            raise ValueError(
                f"an output {self._kind} is a null pointer: allowed: memory of malloc()"
            )
        if self._kind == "blob":
            content: bytes | str = ctypes.string_at(address, self._length.value)
        else:
            content = ctypes.string_at(address).decode()
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free.restype = None
        free(address)
        return content


def _handle(comm: MPI.Comm) -> ctypes.c_int | ctypes.c_void_p:
    """Return an MPI_Comm, which is a number or a pointer."""
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(comm))
