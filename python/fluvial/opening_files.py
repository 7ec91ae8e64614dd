# SPDX-License-Identifier: Apache-2.0
"""Files as `fluvial.open` opens them, whose formats are imported when the first one is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._core import InvalidArgument
from .base.arguments import check_options, to_float, to_path
from .base.messages import shown
from .describe.engines import (
    FILE_OPTIONS,
    WRITE_OPTIONS,
    Options,
    refuse_what_is_no_file,
    writing_engine,
)
from .mpi.communicator import Communicator
from .opening_choice import OPTIONS_OF, Choice

if TYPE_CHECKING:
    from .scan.file import File, Path
    from .scan.file_series import FileSeries
    from .scan.followed_series import FollowedSeries
    from .stage.file_writer import FileWriteSeries


def write_files(chosen: Choice, comm: Communicator | None) -> FileWriteSeries:
    """Open files for writing. Collective."""
    check_options(chosen.options, OPTIONS_OF[True, True], "for mode 'w'")
    path = to_path(chosen.name, "the path of a file")
    engine = writing_engine(path, chosen.engine, chosen.engine_of)
    try:
        from .stage.file_writer import FileWriteSeries
    except ImportError as error:
        raise InvalidArgument(
            f"to write files needs a Python package that is not installed: got {error}; allowed: "
            "xarray, h5py. Run: pip install xarray h5py"
        ) from error
    kept = {"step_timeout", "stall_timeout", *WRITE_OPTIONS} & chosen.options.keys()
    said = {key: chosen.options[key] for key in kept}
    return FileWriteSeries(path, comm, engine=engine, **said)


def read_files(
    name: Path | Sequence[Path],
    comm: Communicator | None,
    engine: str | None,
    options: Options,
) -> File | FileSeries | FollowedSeries:
    """Open files for reading, or follow them."""
    check_options(options, OPTIONS_OF[False, True], "for files")
    refuse_what_is_no_file(name)
    if engine == "raw" and "raw" not in options:
        raise InvalidArgument(
            f"engine 'raw' needs the layout of the file: got {shown(name)} alone; allowed: "
            "raw={'dtype': 'f8', 'shape': (100, 200)}, for example"
        )
    try:
        from .scan.stored_series import StoredSeries
    except ImportError as error:
        raise InvalidArgument(
            f"files need a Python package that is not installed: got {error}; "
            "allowed: xarray, h5netcdf, cftime. Run: pip install xarray h5netcdf cftime"
        ) from error
    said = {key: value for key, value in options.items() if key in FILE_OPTIONS}
    if isinstance(name, os.PathLike):
        name = to_path(name, "the path of a file")
    stored = StoredSeries(name, engine, said)
    follow = options.get("follow")
    if follow is None or follow is False:
        return stored.open(comm)
    until = None if follow is True else to_path(follow, "follow")
    times = {"rendezvous_timeout": 60.0, "step_timeout": 300.0}
    return stored.follow(
        comm, until, *(to_float(options.get(key, value), key) for key, value in times.items())
    )
