# SPDX-License-Identifier: Apache-2.0
"""Files of strangers: another process opens them first, and dies in our place.

Not a wall: what a file did not do to that process it may do to this one, if it is another one by
then, or where more of it is read.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Sequence

from .. import _core
from .._core import DamagedFile, InvalidArgument

# glibc fills memory that it gives out or takes back, and looks at each block: what writes past its
# memory or uses what it has freed ends that process rather than this one.
_STRICT_MEMORY = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
_WALK = pathlib.Path(__file__).with_name("isolated_walk.py")


def try_elsewhere(paths: Sequence[str]) -> None:
    """Have a process of its own open files and look at all that is in them. Local, blocking.

    Raises
    ------
    DamagedFile
        A file ended that process; it is named, with the signal.
    InvalidArgument
        A path is that of a folder.
    SystemError
        That process cannot be started.
    """
    for path in filter(os.path.isdir, paths):
        raise InvalidArgument(
            f"isolated goes with files alone: got the folder {path!r}; allowed: HDF5 and netCDF. "
            "Leave it out: folders of Zarr and BP are read by their own libraries"
        )
    code, said = _walk(paths)
    if code == 0:
        return
    if code > 0:
        raise _core.SystemError(
            f"the process that opens files first cannot be started: got {said}; "
            "allowed: one that imports Fluvial. Open the files without isolated=True"
        )
    for path in paths if len(paths) > 1 else ():
        code_of_one, _ = _walk([path])
        if code_of_one < 0:
            code, paths = code_of_one, [path]
            break
    names = ", ".join(repr(path) for path in paths)
    raise DamagedFile(
        f"{names} ended the process that opened it first: got signal {_name_of(-code)}; "
        "allowed: files that end none. Leave it alone, or ask its author to write it again"
    )


def _walk(paths: Sequence[str]) -> tuple[int, str]:
    """Return the exit code, negative for a signal, and the last line that was printed."""
    if not sys.executable:
        raise InvalidArgument(
            "isolated needs the Python interpreter: got a program that does not say where it is; "
            "allowed: a sys.executable. Open the files without isolated=True"
        )
    ended = subprocess.run(
        [sys.executable, "-P", str(_WALK), str(_core.__file__)],
        input="\0".join(paths),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        check=False,
        env=os.environ | _STRICT_MEMORY,
    )
    return ended.returncode, (ended.stderr.strip().splitlines() or ["nothing"])[-1]


def _name_of(number: int) -> str:
    name = signal.Signals(number).name
    return f"{name} (it took too long)" if number == signal.SIGPROF else name
