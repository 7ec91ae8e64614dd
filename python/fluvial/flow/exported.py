# SPDX-License-Identifier: Apache-2.0
"""C++ functions that shared libraries export for tasks."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .. import _core
from ..base.arguments import to_bool, to_float, to_int, to_text, wrong_type
from ..base.messages import did_you_mean, shown

if TYPE_CHECKING:
    from mpi4py import MPI

Value: TypeAlias = int | float | bool | str | bytes
"""Of an input or an output."""
_CHECKS: dict[str, Callable[[object, str], Value]]
_CHECKS = {"i": to_int, "f": to_float, "b": to_bool, "s": to_text}
_NUMBERS = {"i": "q", "f": "d", "b": "q"}
_LENGTH = struct.Struct("=q")
_Exported: TypeAlias = tuple[str, str, str, bool]
"""A function: its name, the types of its inputs and outputs, whether it is parallel."""


def pack_of(codes: str) -> Callable[[Sequence[object]], bytes]:
    """Return what makes a message of values of these types (see `exported_task.hpp`)."""
    if all(code in _NUMBERS for code in codes):
        whole = struct.Struct("=" + "".join(_NUMBERS[code] for code in codes))
        return lambda values: whole.pack(*values)
    packs = [_one_packed(code) for code in codes]
    return lambda values: b"".join([p(v) for p, v in zip(packs, values, strict=True)])


def unpack_of(codes: str) -> Callable[[bytes | bytearray], tuple[Value, ...]]:
    """Return what reads the values of such a message."""
    if all(code in "if" for code in codes):
        return struct.Struct("=" + "".join(_NUMBERS[code] for code in codes)).unpack

    def unpack(message: bytes | bytearray) -> tuple[Value, ...]:
        values: list[Value] = []
        begin = 0
        for code in codes:
            end = begin + 8
            if code in _NUMBERS:
                (value,) = struct.unpack_from("=" + _NUMBERS[code], message, begin)
                values.append(bool(value) if code == "b" else value)
            else:
                end += _LENGTH.unpack_from(message, begin)[0]
                content = bytes(message[begin + 8 : end])
                values.append(content.decode() if code == "s" else content)
            begin = end
        return tuple(values)

    return unpack


def _one_packed(code: str) -> Callable[[Any], bytes]:
    if code in _NUMBERS:
        return struct.Struct("=" + _NUMBERS[code]).pack

    def pack(value: Any) -> bytes:
        content = value.encode() if code == "s" else bytes(value)
        return _LENGTH.pack(len(content)) + content

    return pack


@dataclass(frozen=True)
class ExportedTask:
    """A function of a library: may be called, and be a task of a pool."""

    path: str
    name: str
    inputs: str
    outputs: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "__qualname__", self.name)  # what messages and timelines call it

    def __call__(self, *values: object) -> Any:
        """Call it on this rank."""
        return self._called(None, values)

    def _called(
        self, comm: MPI.Comm | None, values: Sequence[object]
    ) -> Value | tuple[Value, ...] | None:
        if len(values) != len(self.inputs):
            raise _core.WrongType(
                f"{self.name}: got {len(values)} inputs; allowed: {len(self.inputs)}"
            )
        checked = [self._checked(*pair) for pair in zip(self.inputs, values, strict=True)]
        handle = None if comm is None or comm.size == 1 else comm.py2f()
        message = pack_of(self.inputs)(checked)
        said = _core.call_exported(self.path, self.name, handle, message)
        results = unpack_of(self.outputs)(said)
        return results[0] if len(results) == 1 else results or None

    def _checked(self, code: str, value: object) -> Value:
        what = f"an input of {self.name}"
        if code in _CHECKS:
            return _CHECKS[code](value, what)
        try:
            return memoryview(cast(bytes, value)).tobytes()
        except TypeError:
            raise wrong_type(what, value, "bytes") from None


@dataclass(frozen=True)
class ParallelExportedTask(ExportedTask):
    """One that several ranks may run together; their communicator stands before its inputs."""

    _fluvial_parallel = True

    def __call__(  # type: ignore[override]
        self, comm: MPI.Comm | None, *values: object
    ) -> Any:
        """Call it on each rank of a communicator of mpi4py."""
        return self._called(comm, values)


class TaskLibrary:
    """A shared library that exports C++ functions for tasks.

    Its functions are attributes, to be submitted to a pool or called here. The library is loaded by
    each rank that runs one, from the same path.

    Parameters
    ----------
    path
        Of the library; made from C++ with the header ``fluvial/flow/exported_task.hpp``.

    Raises
    ------
    NoSuchFile
        When it cannot be loaded.
    InvalidArgument
        When it exports no functions for tasks.

    Examples
    --------
    ::

        physics = fl.TaskLibrary("libphysics.so")
        with fl.Pool() as pool:
            if pool.leads:
                print(pool.submit(physics.energy, 1.5, 1000).result())
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        found = cast("list[_Exported] | None", _core.exported_tasks(self.path))
        if found is None:
            raise _core.InvalidArgument(
                f"a library of tasks: got {shown(self.path)}; allowed: one that exports functions "
                "by FLUVIAL_EXPORT_TASKS of fluvial/flow/exported_task.hpp"
            )
        self.tasks: dict[str, ExportedTask] = {}
        for name, inputs, outputs, together in found:
            kind = ParallelExportedTask if together else ExportedTask
            self.tasks[name] = kind(self.path, name, inputs, outputs)

    def __getattr__(self, name: str) -> ExportedTask:
        tasks = self.__dict__.get("tasks", {})
        if name not in tasks:
            near = did_you_mean(name, list(tasks))
            raise AttributeError(
                f"no function for tasks has this name: got {name!r}; allowed: "
                f"{', '.join(tasks)}{near}"
            )
        found: ExportedTask = tasks[name]
        return found

    def __dir__(self) -> list[str]:
        return ["path", "tasks", *self.tasks]


def library_tasks(path: str) -> dict[str, ExportedTask] | None:
    """Return the functions of a library by name; None where it exports none."""
    return None if _core.exported_tasks(path) is None else TaskLibrary(path).tasks
