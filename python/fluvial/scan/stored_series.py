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
        joined = isinstance(name, str) and glob.has_magic(name) and not os.path.exists(name)
        if not isinstance(name, str) or "raw" in self.options or joined:
            raise InvalidArgument(
                f"this cannot be followed: got {shown(name)}; allowed: one file, or a file for "
                "each step by its number, as in 'data%T.h5'"
            )
        return FollowedSeries(
            name, partial(self.open, unnamed_records=True), comm, until, Limits(first_s, next_s)
        )

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
