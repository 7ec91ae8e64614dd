# SPDX-License-Identifier: Apache-2.0
"""Compiles ``native.cpp`` for this machine once and calls its loops; needs only NumPy.

The same functions serve Fluvial's processes and the peers', which may run in another Python
environment, so that what is done with the data costs every contestant the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_SOURCE = Path(__file__).with_name("native.cpp")
_FLAGS = ("-std=c++20", "-O3", "-march=native", "-shared", "-fPIC")
_COMPILE_TIMEOUT_S = 120


def build(folder: Path) -> Path:
    """Compile the loops into `folder` unless the same source is there already; returns the library.

    Errors: RuntimeError naming the compiler's message when there is no working C++ compiler
    (the environment variable CXX chooses one; default ``c++``).
    """
    return compile_once(folder, "bench_native", _SOURCE, [], _FLAGS, suffix=".so")


def compile_once(
    folder: Path,
    name: str,
    source: Path,
    headers: Sequence[Path],
    flags: Sequence[str],
    libraries: Sequence[str] = (),
    suffix: str = "",
) -> Path:
    """Compile `source` into ``folder/name_HASH`` unless that is there; HASH is of all that matters.

    `headers` and the files named in `libraries` count as sources.  Errors: RuntimeError with the
    compiler's message.
    """
    compiler = os.environ.get("CXX", "c++").split()
    key = hashlib.sha256(" ".join([*compiler, *flags, *libraries]).encode())
    for path in [source, *headers, *(Path(word) for word in libraries if Path(word).is_file())]:
        key.update(path.read_bytes())
    target = folder / f"{name}_{key.hexdigest()[:12]}{suffix}"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}")
    command = [*compiler, *flags, "-o", str(partial), str(source), *libraries]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(
            f"cannot compile {source.name}: {error}; install a C++20 compiler or name it in CXX"
        ) from error
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    partial.replace(target)
    return target


class Native:
    """The loops of one compiled library; each call releases the GIL."""

    def __init__(self, library: Path) -> None:
        loaded = ctypes.CDLL(str(library))
        self._read = loaded.bench_read
        self._read.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._read.restype = ctypes.c_uint64
        self._sum = loaded.bench_sum
        self._sum.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._sum.restype = ctypes.c_double
        self._copy = loaded.bench_copy
        self._copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self._copy.restype = None

    def read(self, array: NDArray[np.generic]) -> int:
        """Read every 64-bit word of a contiguous array; returns their sum modulo 2^64."""
        return int(self._read(_address(array), array.nbytes))

    def sum(self, array: NDArray[np.float64]) -> float:
        """Return the sum of a contiguous float64 array."""
        if array.dtype != np.float64:
            raise ValueError(f"sum takes float64, got {array.dtype}")
        return float(self._sum(_address(array), array.size))

    def copy(self, target: NDArray[np.generic], source: NDArray[np.generic]) -> None:
        """Copy `source` onto `target`, both contiguous and of the same size in bytes."""
        if target.nbytes != source.nbytes:
            raise ValueError(f"copy of {source.nbytes} bytes onto {target.nbytes} bytes")
        self._copy(_address(target), _address(source), source.nbytes)


def _address(array: NDArray[np.generic]) -> int:
    if not array.flags.c_contiguous:
        raise ValueError(f"contiguous arrays only, got strides {array.strides}")
    return int(array.__array_interface__["data"][0])
