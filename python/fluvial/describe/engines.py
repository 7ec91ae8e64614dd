# SPDX-License-Identifier: Apache-2.0
"""Engines, which carry series: the one that is meant follows from what is said, or from names."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Collection
from typing import Any, TypeAlias

from .._core import InvalidArgument
from ..base.arguments import to_choice
from ..base.messages import shown

Options: TypeAlias = dict[str, Any]
"""Options of a series by name, as a call or a job says them: of any type until they are checked."""

ENGINES = ("stage", "hdf5", "netcdf", "netcdf4", "zarr", "bp", "raw")
WRITERS = {
    "hdf5": ("h5", "hdf5", "he5"),
    "netcdf": ("nc", "nc5"),
    "netcdf4": ("nc4",),
    "zarr": ("zarr",),
    "bp": ("bp", "bp5"),
}
"""Engines that write files, and the suffixes by which they are meant."""
FILE_OPTIONS: set[str] = {"raw", "decode", "isolated"}
READ_OPTIONS: set[str] = {"follow"}
"""Options of readers of files that mean nothing for streams, which are always followed."""
WRITE_OPTIONS: set[str] = {"zarr_format", "compression", "file_per", "aggregators"}
"""Options of writers of files alone."""

_SUFFIXES = (
    "nc",
    "nc3",
    "nc4",
    "nc5",
    "cdf",
    "netcdf",
    "hdf",
    "h5",
    "hdf5",
    "he5",
    "zarr",
    "bp",
    "bp4",
    "bp5",
)
_OF_OTHERS = {"sst": "ADIOS2's own streams"}
"""Suffixes of what Fluvial cannot read, by whose they are."""
_MARKS = {"zarr": ("zarr.json", ".zgroup", ".zarray", ".zmetadata"), "bp": ("md.idx",)}
"""Files by one of which a folder is known to be that of an engine."""
_PACKAGES = {"zarr": "zarr", "bp": "adios2"}
"""Packages without which an engine does not work, by their names for pip and for import."""


def engine_said(engine: object, where: str = "engine") -> str | None:
    """Return the engine that is asked for, here or by the environment; None: it is not said."""
    if engine is not None:
        return to_choice(engine, where, ENGINES)
    said = os.environ.get("FLUVIAL_ENGINE")
    return None if not said else to_choice(said, "FLUVIAL_ENGINE", ENGINES)


def means_files(name: object, mode: str, options: Collection[str]) -> bool:
    """Tell whether files are meant: they exist, or could be nothing else."""
    if not isinstance(name, str) or not FILE_OPTIONS.isdisjoint(options):
        return isinstance(name, str | os.PathLike | list | tuple)
    if name.startswith("fluvial://"):  # where the writer of a stream is
        return False
    suffix = _suffix(name)
    if suffix in _SUFFIXES or suffix in _OF_OTHERS or "/" in name or "%" in name:
        return True
    return mode == "r" and (os.path.exists(name) or glob.has_magic(name))


def writing_engine(path: str, engine: str | None, said_by: str) -> str:
    """Return the engine that writes files of this name.

    `said_by` completes the message where `engine` cannot: " (of FLUVIAL_ENGINE)".

    Raises
    ------
    InvalidArgument
        None does.
    """
    suffix = _suffix(path)
    for writer, suffixes in WRITERS.items():
        if engine == writer or (engine is None and suffix in suffixes):
            check_package(writer, path)
            return writer
    said = "" if engine is None else f" with engine {engine!r}{said_by}"
    raise InvalidArgument(
        f"files of this kind cannot be written: got {shown(path)}{said}; "
        "allowed: HDF5 (.h5, engine='hdf5'), netCDF (.nc, 'netcdf', or .nc4, 'netcdf4'), Zarr "
        "(.zarr, 'zarr'), BP (.bp, 'bp'), and streams, whose names have no suffix of a file "
        "format. Give engine='stage' for a stream"
    )


def refuse_what_is_no_file(name: object) -> None:
    """Refuse formats that no engine reads, and folders.

    Raises
    ------
    InvalidArgument
        With what to do instead.
    """
    suffix = _suffix(os.fspath(name)) if isinstance(name, str | os.PathLike) else ""
    if suffix in _OF_OTHERS:
        raise InvalidArgument(
            f"no engine reads files of {_OF_OTHERS[suffix]}: got {shown(name)}; allowed: HDF5, "
            "netCDF, Zarr, BP, raw numbers, streams. Convert it, or give engine='stage' for a "
            "stream"
        )
    for engine in _PACKAGES:
        if suffix in WRITERS[engine]:
            check_package(engine, name)
    if isinstance(name, str | os.PathLike) and os.path.isdir(name):
        inside = os.path.join(os.fsdecode(name), "*.nc")
        if (kind := kind_of_folder(os.fsdecode(name))) is not None:
            check_package(kind, name)
            return
        raise InvalidArgument(
            f"a folder is no series: got {shown(name)}; allowed: a file, a pattern of files such "
            f"as {inside!r}, a folder of Zarr or BP, or a stream, by engine='stage'"
        )


def refuse_taken_name_of_stream(name: object) -> None:
    """Refuse a stream, of which nothing else says that it is one, with the name of what is here.

    Raises
    ------
    InvalidArgument
        Readers here would take the name for that of the file or folder.
    """
    if isinstance(name, str) and os.path.exists(name):
        what = "folder" if os.path.isdir(name) else "file"
        raise InvalidArgument(
            f"a stream is to have the name of a {what} that is here: got {shown(name)}; allowed: "
            "a name that no file or folder here has, or a stream, by engine='stage'. Readers here "
            "need engine='stage', too. For a file, give engine='hdf5' or a name such as 'run.h5'"
        )


def kind_of_folder(path: str) -> str | None:
    """Return the engine whose folder this is; None for any other."""
    for engine, marks in _MARKS.items():
        if any(os.path.isfile(os.path.join(path, mark)) for mark in marks):
            return engine
    return None


def check_package(engine: str, name: object) -> None:
    """Refuse an engine whose package is not installed.

    Raises
    ------
    InvalidArgument
        With the command that installs it.
    """
    package = _PACKAGES.get(engine)
    if package is not None and importlib.util.find_spec(package) is None:
        raise InvalidArgument(
            f"engine '{engine}' needs a Python package that is not installed: got {shown(name)}; "
            f"allowed: {package}. Run: pip install {package}"
        )


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
