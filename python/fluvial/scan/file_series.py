# SPDX-License-Identifier: Apache-2.0
"""Series in files: their steps, one after the other as those of a live one, or by position."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

from .._core import InvalidArgument, OutOfBounds
from ..base.arguments import to_choice, wrong_type
from ..base.messages import shown
from ..describe.attributes import Attributes
from ..mpi.communicator import Communicator
from ..store import isolation
from ..store.joined_files import JoinedFiles, open_joined
from ..store.numbered_files import numbered_files
from ..store.stored_steps import StoredSteps, steps_of_numbered
from .file_step import FileStep


def open_numbered(
    pattern: str,
    *,
    comm: Communicator | None = None,
    decode: bool | str = True,
    isolated: bool = False,
) -> FileSeries:
    """Open a file for each step, ``"data%T.h5"``; parameters are those of `open_files`. Local.

    Raises
    ------
    InvalidArgument
        The pattern cannot be used, or two files have one number.
    NoSuchFile
        No file fits the pattern.
    DamagedFile
        With `isolated`: a file ended the process that opened it.
    """
    to_choice(decode, "decode", (True, False, "xarray"))
    files = numbered_files(pattern)
    if to_choice(isolated, "isolated", (True, False)):
        isolation.try_elsewhere([path for _, path in files])
    return FileSeries(pattern, files, decode, comm)


class FileSteps(Sequence[FileStep]):
    """The steps of files, by position. `indices` are their numbers."""

    def __init__(self, stored: StoredSteps, comm: Communicator | None) -> None:
        self._stored = stored
        self._comm = comm

    @property
    def indices(self) -> list[int]:
        """Numbers of the steps, ascending."""
        return list(self._stored.numbers)

    @overload
    def __getitem__(self, at: int) -> FileStep: ...
    @overload
    def __getitem__(self, at: slice) -> FileSteps: ...
    def __getitem__(self, at: int | slice) -> FileStep | FileSteps:
        try:
            positions = range(len(self))[at]
        except IndexError:
            raise OutOfBounds(
                f"no such step: got {shown(at)}; allowed: {-len(self)} to {len(self) - 1}"
            ) from None
        except TypeError:
            raise wrong_type("the position of a step", at, "an int or a slice") from None
        if isinstance(positions, int):
            return FileStep(self._stored.open_at(positions), self._comm)
        open_at = self._stored.open_at
        chosen = StoredSteps(
            [self._stored.numbers[i] for i in positions], lambda n: open_at(positions[n])
        )
        return FileSteps(chosen, self._comm)

    def __len__(self) -> int:
        return len(self._stored.numbers)

    def __repr__(self) -> str:
        return f"<fluvial.FileSteps {shown(self.indices)}>"


class SeriesInFiles:
    """What a series in files does as a live one does: an iterator over steps."""

    comm: Communicator | None
    """Over which reductions run unless they say otherwise."""
    _next = 0

    @functools.cached_property
    def steps(self) -> FileSteps:
        """The steps by position, ``steps[-1]``, in ascending order of their numbers."""
        return FileSteps(self._find_steps(), self.comm)

    def __iter__(self) -> Iterator[FileStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def next(self) -> FileStep | None:
        """Return the step after the one that this returned before; None behind the last. Local."""
        if self._next >= len(self.steps):
            return None
        self._next += 1
        return self.steps[self._next - 1]

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        raise NotImplementedError

    def _find_steps(self) -> StoredSteps:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileSeries(SeriesInFiles):
    """A series with a file for each step, "data%T.h5". A file is opened when its step is.

    Examples
    --------
    >>> with fl.open("data%T.h5") as series:                              # doctest: +SKIP
    ...     for step in series:
    ...         print(step.time, step.meshes["E"].x.max())
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[tuple[int, str]],
        decode: bool | str,
        comm: Communicator | None,
    ) -> None:
        self.name = name
        """The pattern."""
        self.comm = comm
        self._decode = decode
        self._open: weakref.WeakSet[JoinedFiles] = weakref.WeakSet()
        self._closed = False
        self._paths = list(paths)

    @property
    def paths(self) -> list[str]:
        """Of the files, in the order of their numbers."""
        return [path for _, path in self._paths]

    @property
    def format(self) -> str:
        """Of the first file, e.g. "HDF5"."""
        return self._open_one(self.paths[0]).format

    @functools.cached_property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the first file."""
        return Attributes(self._open_one(self.paths[0]).attrs)

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        self._closed = True
        for files in list(self._open):
            files.close()

    def _find_steps(self) -> StoredSteps:
        return steps_of_numbered(self._paths, self._open_one)

    def _open_one(self, path: str) -> JoinedFiles:
        if self._closed:
            raise InvalidArgument("the series is closed; use it inside its `with` block")
        files = open_joined([path], self._decode)
        self._open.add(files)
        return files

    def __repr__(self) -> str:
        return f"<fluvial.FileSeries {self.name!r} of {len(self)} steps>"
