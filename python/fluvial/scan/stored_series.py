# SPDX-License-Identifier: Apache-2.0
"""What a name means as files, once it is known that it means files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from .._core import InvalidArgument
from ..base.messages import shown
from ..describe.engines import Options
from ..mpi.communicator import Communicator
from ..store.bp_file import FORMAT
from ..store.numbered_files import has_number
from .file import File, Path, open_files
from .file_series import FileSeries, open_numbered
from .followed_files import FollowedFiles
from .followed_joined import FollowedJoined
from .followed_series import FollowedSeries, Limits


class StoredSeries(NamedTuple):
    """A series in files that can be opened."""

    name: Path | Sequence[Path]
    engine: str | None
    """Whose files these must be; None: any."""
    options: Options
    """`raw`, `decode` and `isolated` of `open_files`, as far as they are given."""

    def open(
        self, comm: Communicator | None = None, unnamed_records: bool = False
    ) -> File | FileSeries:
        """Open the files that are there. Errors are those of `open_files` and `open_numbered`."""
        files: File | FileSeries
        if isinstance(self.name, str) and self._is_numbered(self.name):
            if "raw" in self.options:
                raise InvalidArgument(
                    f"raw does not go with numbered files: got {shown(self.name)}; allowed: a "
                    "pattern with *, which joins files, or one file"
                )
            files = open_numbered(self.name, comm=comm, **self.options)
        else:
            files = open_files(
                self.name, comm=comm, unnamed_records=unnamed_records, **self.options
            )
        if self.engine is not None:
            _check_engine(self.engine, files)
        return files

    def follow(
        self, comm: Communicator | None, until: str | None, first_s: float, next_s: float
    ) -> FollowedSeries:
        """Return the steps as they come; whether the files are there is seen later. Local.

        Raises
        ------
        InvalidArgument
            These files cannot be followed.
        """
        name = self.name
        if not isinstance(name, str) or "raw" in self.options:
            raise InvalidArgument(
                f"this cannot be followed: got {'raw=' if isinstance(name, str) else ''}"
                f"{shown(self.options['raw'] if isinstance(name, str) else name)}; allowed: one "
                "file, a pattern by which files are found as they appear, as 'run_*.nc', or a "
                "file for each step, as 'data%T.h5'; none of raw numbers, which do not say how "
                "many are written"
            )
        limits = Limits(first_s, next_s)
        if glob.has_magic(name) and not self._is_numbered(name) and not os.path.exists(name):
            return FollowedJoined(name, self._open_one, comm, until, limits)
        return FollowedFiles(name, partial(self.open, unnamed_records=True), comm, until, limits)

    def _open_one(self, path: str) -> File:
        files = StoredSeries(path, self.engine, self.options).open(unnamed_records=True)
        assert isinstance(files, File)
        return files

    @staticmethod
    def _is_numbered(name: str) -> bool:
        return has_number(name) and not os.path.exists(name)


def _check_engine(engine: str, files: File | FileSeries) -> None:
    """Refuse files of another format than is asked for."""
    formats = {
        "hdf5": ("HDF5", "netCDF-4"),
        "netcdf": ("netCDF",),
        "netcdf4": ("netCDF-4",),
        "raw": ("raw",),
        "zarr": ("Zarr",),
        "bp": (FORMAT,),
    }[engine]
    if not files.format.startswith(formats):
        found, path = files.format, files.paths[0]
        files.close()
        raise InvalidArgument(
            f"'{path}' is of another format than engine {engine!r} reads: got {found}; allowed: "
            f"{' or '.join(formats)}. Leave engine out, or name the one that fits"
        )
