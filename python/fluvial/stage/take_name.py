# SPDX-License-Identifier: Apache-2.0
"""The name of a series in files: free, and taken, before anything is written."""

from __future__ import annotations

import os

from .. import _core
from ..store.hdf5_host_file import remove_files_of_hosts
from ..store.numbered_files import check_number, has_number, numbered_files
from ..store.output_file import check_folder, check_free, check_kind, remove
from ..store.progress_mark import ProgressMark

_FILES = {"hdf5", "netcdf", "netcdf4"}
"""Of the engines, those that write no folder."""


def take_name(name: str, engine: str) -> ProgressMark:
    """Make sure that the name is free, and take it: what is there is removed. Local.

    Raises
    ------
    InvalidArgument
        A number in it is none, numbered files are there, another writer has the name, or a folder
        has it, a FIFO, a socket or a device.
    SystemError
        Its folder is not there, or what has the name cannot be removed.
    """
    check_number(name)
    numbered = has_number(name)
    if numbered:
        try:
            found = numbered_files(name)
        except _core.NoSuchFile:
            found = []
        check_free([path for _, path in found], name)
    else:
        check_kind(name)
    if engine in _FILES:
        check_folder(name)
    mark = ProgressMark(name)
    try:
        if not numbered and os.path.exists(name):
            remove(name)  # or it would be read as this one, should no step be written
        if engine == "hdf5" and not numbered:
            remove_files_of_hosts(name)
    except Exception:
        mark.close()
        raise
    return mark
