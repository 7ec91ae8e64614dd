# SPDX-License-Identifier: Apache-2.0
"""Files of n-d data, one or several as one: what `fluvial.open` returns for them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, overload

from .._core import InvalidArgument, NoSuchFile, WrongType
from ..base.arguments import to_choice, to_path, to_text
from ..base.html_table import html_table
from ..base.messages import shown
from ..describe.attributes import Attributes
from ..mpi.communicator import Communicator
from ..store import isolation
from ..store.joined_files import JoinedFiles, open_joined
from ..store.raw_layout import raw_layout
from ..store.stored_steps import StoredSteps, steps_of
from .file_dataset import FileDataset
from .file_series import SeriesInFiles
from .joint_reductions import JointReductions
from .view import View

Default = TypeVar("Default")

Path = str | os.PathLike[str]
Raw = Mapping[str, object] | Sequence[Mapping[str, object]]


def open_files(
    path: Path | Sequence[Path],
    *,
    comm: Communicator | None = None,
    raw: Raw | None = None,
    decode: bool | str = True,
    isolated: bool = False,
    unnamed_records: bool = False,
) -> File:
    """Open a file, all that a pattern matches (sorted by name), or a list of them, as one. Local.

    Parameters
    ----------
    path
        Of a file, a pattern, or a list of paths in the order of the joined dimension.
    comm
        Over which reductions run unless they say otherwise; None: MPI.COMM_WORLD in a program of
        several ranks.
    raw
        The layout of a raw binary file: dtype (NumPy's, with its byte order), shape, and where
        wanted name, dims, offset (bytes), attrs; a list of these for several datasets.
    decode
        Attributes mean what the CF conventions say (missing values, packing, valid ranges);
        "xarray": but for valid ranges, which xarray does not know.
    isolated
        Another process opens the files first; where one ends it, that is a DamagedFile. Not for
        raw files, of which nothing is parsed.
    unnamed_records
        Where no dimension is that of time, an unlimited first axis without a name is.

    Raises
    ------
    InvalidArgument
        A format that is none of ours, or an argument that cannot be used.
    NoSuchFile
        No such file, or a pattern fits none. It is a FileNotFoundError and a SystemError.
    DamagedFile, SystemError
        It cannot be read.
    """
    to_choice(decode, "decode", (True, False, "xarray"))
    if to_choice(isolated, "isolated", (True, False)) and raw is not None:
        raise InvalidArgument(
            "isolated does not go with raw: got both; allowed: isolated=True for files with a "
            "header. Leave it out: nothing of a raw file is parsed"
        )
    paths = _paths_of(path)
    if isolated:
        isolation.try_elsewhere(paths)
    layouts = None
    if raw is not None:
        layouts = [raw_layout(r) for r in (raw if isinstance(raw, list | tuple) else [raw])]
    return File(open_joined(paths, decode, layouts, unnamed_records), comm)


def _paths_of(path: Path | Sequence[Path]) -> list[str]:
    several = isinstance(path, Sequence) and not isinstance(path, str | os.PathLike)
    given: Sequence[object] = path if several else [path]  # type: ignore[assignment]
    found = [_matched(to_path(p, "the path of a file")) for p in given]
    if not found:
        raise _no_such_files(path)
    return [name for some in found for name in some]


def _matched(name: str) -> list[str]:
    if os.path.exists(name) or not glob.has_magic(name):
        return [name]
    if paths := sorted(glob.glob(name)):
        return paths
    raise _no_such_files(name)


def _no_such_files(said: object) -> NoSuchFile:
    return NoSuchFile(
        f"no such files: got {shown(said)}; allowed: files that exist. Check the pattern and "
        f"the working directory, {os.getcwd()}."
    )


class File(SeriesInFiles, JointReductions):
    """A file, or several of one kind joined along their first axis.

    By the name of a dataset, ``file["t"]``, it gives all of it; iterating gives its steps, as of a
    live series: the iterations of openPMD, the records of an axis of time, or else one step with
    all that there is. The joined dimension is the unlimited one, or where there is none the first
    of the dataset with the most dimensions. Datasets that do not begin with it come from the first
    file.
    """

    def __init__(self, files: JoinedFiles, comm: Communicator | None = None) -> None:
        if not isinstance(files, JoinedFiles):
            raise WrongType(
                f"a File is made by fl.open: got {shown(files)}; allowed: fl.open(path). Call that"
            )
        self.comm = comm
        self._files = files

    @property
    def path(self) -> str:
        """Of the (first) file."""
        return self._files.path

    @property
    def paths(self) -> list[str]:
        """Of all files."""
        return self._files.paths

    @property
    def format(self) -> str:
        """Of the (first) file, e.g. "netCDF classic (CDF-5)", "netCDF-4"."""
        return self._files.format

    @property
    def names(self) -> list[str]:
        """Names of the datasets, those among them that cannot be opened."""
        return list(self._files.names)

    @property
    def unreadable(self) -> dict[str, str]:
        """Why datasets cannot be opened, by name: what is damaged, or which codec is not known.

        Using them raises this, too.
        """
        return self._files.unreadable

    @property
    def left_out(self) -> dict[str, str]:
        """Why what else is stored in the (first) file is no dataset: text, compound types.

        By name. Such a name is not among the names, and asking for it raises this, too.
        """
        return self._files.left_out

    @property
    def attrs(self) -> Attributes:
        """Attributes of the (first) file."""
        return self._files.attrs

    @property
    def dims(self) -> dict[str, int]:
        """Lengths of the dimensions; of the joined one, over all files."""
        return self._files.dims

    def _ipython_key_completions_(self) -> list[str]:
        return self.names

    def __getitem__(self, name: str) -> FileDataset:
        to_text(name, "the name of a dataset")
        files = self._files
        view = View.whole(files.dims_of(name), files.shape_of(name), files.decode)
        return FileDataset(files, name, view, self.comm)

    def __contains__(self, name: object) -> bool:
        return name in self._files.names

    @overload
    def get(self, key: str) -> FileDataset | None: ...
    @overload
    def get(self, key: str, default: Default) -> FileDataset | Default: ...
    def get(self, key: str, default: object = None) -> object:
        """Return the dataset of a name, or `default` where there is none."""
        to_text(key, "the name of a dataset")
        return self[key] if key in self.names else default

    def keys(self) -> list[str]:
        """Return the names of the datasets."""
        return self.names

    def values(self) -> Iterator[FileDataset]:
        """Give the datasets."""
        return map(self.__getitem__, self.names)

    def items(self) -> Iterator[tuple[str, FileDataset]]:
        """Give names and datasets."""
        return ((name, self[name]) for name in self.names)

    def _find_steps(self) -> StoredSteps:
        return steps_of(self._files)

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        self._files.close()

    def __repr__(self) -> str:
        if self._files.closed:
            return "<fluvial.File, closed>"
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        broken = self.unreadable
        names = [
            f"{name} (cannot be opened)" if name in broken else name for name in self._files.names
        ]
        names += [f"{name} (left out: {why})" for name, why in self.left_out.items()]
        return f"<fluvial.File {self.path!r}{more}, {self.format}: {', '.join(names)}>"

    def _repr_html_(self) -> str:
        if self._files.closed:
            return html_table(repr(self), (), ())
        columns = ("dataset", "dtype", "dimensions", "units", "long name")
        rows = [self._described(name) for name in self.names]
        rows += [(name, f"left out: {why}") for name, why in self.left_out.items()]
        return html_table(f"{self.path}, {self.format}", columns, rows)

    def _described(self, name: str) -> tuple[str, ...]:
        if name in self._files.unreadable:
            return name, "cannot be opened"
        dataset = self[name]
        sizes = ", ".join(f"{d}: {n}" for d, n in zip(dataset.dims, dataset.shape, strict=True))
        said = (str(dataset.attrs.get(key, "")) for key in ("units", "long_name"))
        return name, str(dataset.stored_dtype), sizes, *said
