# SPDX-License-Identifier: Apache-2.0
"""Series in files: their steps, one after the other as those of a live one, or by position."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Iterator, Sequence
from typing import NoReturn, Self, overload

from .._core import Error, InvalidArgument, OutOfBounds
from ..base.arguments import to_choice, wrong_type
from ..base.messages import shown
from ..describe.attributes import Attributes
from ..mpi.communicator import Communicator, check_communicator
from ..mpi.together import Together
from ..store import isolation
from ..store.joined_files import JoinedFiles, open_joined
from ..store.numbered_files import numbered_files
from ..store.stored_steps import StoredSteps, steps_of_numbered
from .file_step import FileStep
from .taken_steps import TakenSteps


def open_numbered(
    pattern: str,
    *,
    comm: Communicator | None = None,
    decode: bool | str = True,
    isolated: bool = False,
) -> FileSeries:
    """Open a file for each step, ``"data%T.h5"``; parameters are those of `open_files`.

    Collective where `comm` is given: the files are those that its first rank sees. Else local.

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
    files = _listed_together(pattern, comm)
    if to_choice(isolated, "isolated", (True, False)):
        isolation.try_elsewhere([path for _, path in files])
    return FileSeries(pattern, files, decode, comm)


def _listed_together(pattern: str, comm: Communicator | None) -> list[tuple[int, str]]:
    """Return the files that the first rank sees: there may be more a moment later."""
    if comm is None:
        return numbered_files(pattern)
    check_communicator(comm)
    found: list[tuple[int, str]] = []
    error: tuple[type[Exception], str] | None = None
    if comm.rank == 0:
        try:
            found = numbered_files(pattern)
        except Error as raised:
            error = type(raised), str(raised)
    found, error = Together(comm).of_first((found, error))
    if error is not None:
        raise error[0](error[1])
    return found


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

    def each(self) -> Iterator[FileStep]:
        """Give one after the other; after an error with one, the next. For several threads, too."""
        return map(self.__getitem__, range(len(self)))

    def __iter__(self) -> Iterator[FileStep]:
        return self.each()

    def __len__(self) -> int:
        return len(self._stored.numbers)

    def __reduce__(self) -> NoReturn:
        raise InvalidArgument(
            f"steps cannot be pickled: got {self!r}; allowed: series, and datasets of steps"
        )

    def __repr__(self) -> str:
        return f"<fluvial.FileSteps {shown(self.indices)}>"


class SeriesInFiles:
    """What a series in files does as a live one does: an iterator over steps."""

    comm: Communicator | None
    """Over which reductions run unless they say otherwise."""
    followed = False
    """Whether more steps may come."""

    @property
    def stats(self) -> dict[str, int | float | str]:
        """Steps that this rank got one after the other, and seconds waiting for them, so far.

        Keys are those of a live series, as far as they mean something: `transport` is "files", and
        no step is ever discarded.
        """
        return self._taken.stats

    @functools.cached_property
    def _taken(self) -> TakenSteps:
        return TakenSteps()

    @functools.cached_property
    def steps(self) -> FileSteps:
        """The steps by position, ``steps[-1]``, in ascending order of their numbers."""
        return FileSteps(self._find_steps(), self.comm)

    def __iter__(self) -> Iterator[FileStep]:
        return self._taken.counted(self.steps.each())

    def __len__(self) -> int:
        return len(self.steps)

    def next(self) -> FileStep | None:
        """Return the step after the one that this returned before; None behind the last. Local."""
        return next(self._following, None)

    @functools.cached_property
    def _following(self) -> Iterator[FileStep]:
        return iter(self)

    def __getstate__(self) -> dict[str, object]:
        here = ("steps", "_following", "_taken")
        return {k: v for k, v in self.__dict__.items() if k not in here}

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
    def attrs(self) -> Attributes:
        """Attributes of the first file."""
        return Attributes(self._open_one(self.paths[0]).attrs)

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        self._closed = True
        for files in list(self._open):
            files.close()

    def __reduce__(self) -> tuple[object, ...]:
        paths = [(number, os.path.abspath(path)) for number, path in self._paths]
        return FileSeries, (self.name, paths, self._decode, self.comm)

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
