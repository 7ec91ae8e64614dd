# SPDX-License-Identifier: Apache-2.0
"""The files of the scan bench: made once a size by the example's generator, and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.options import BUILD, ROOT
from bench.scan.cases import CDF5, CHUNK, HDF5, NETCDF4, SMALL, STEP_BYTES, VARIABLE, DataFile

_GENERATOR = ROOT / "examples" / "05_climate_file" / "make_climate_file.py"
_NAMES = {CDF5: "cdf5", HDF5: "hdf5", NETCDF4: "netcdf4"}
_COMPRESSED = 0.6  # of the bytes, roughly
_TIMEOUT_S = 900
_SPARE_BYTES = 2**30
_STEPS_MULTIPLE = 8  # so that parts and shares of the time steps are whole


def steps_of(bytes_: int) -> int:
    """Return how many time steps a variable of about `bytes_` has."""
    return max(1, round(bytes_ / STEP_BYTES / _STEPS_MULTIPLE)) * _STEPS_MULTIPLE


def needed_bytes(steps: int) -> int:
    """Return the bytes on disk of all files."""
    return int(steps * STEP_BYTES * (2 + _COMPRESSED))


def default_folder() -> Path:
    """Return where files are kept unless told otherwise: $FLUVIAL_BENCH_DATA, or the build."""
    return Path(os.environ.get("FLUVIAL_BENCH_DATA", BUILD / "bench" / "scan"))


def provide(folder: Path, steps: int) -> dict[str, DataFile]:
    """Return the files of `steps` time steps by format; makes them unless they are there.

    Errors: RuntimeError when there is no room (naming how much is needed) or the generator fails.
    """
    home = folder / f"{steps}-steps"
    paths = {format_: home / f"{VARIABLE}.{name}.nc" for format_, name in _NAMES.items()}
    if not all(path.exists() for path in paths.values()):
        folder.mkdir(parents=True, exist_ok=True)
        needed, free = needed_bytes(steps), shutil.disk_usage(folder).free
        if free < needed + _SPARE_BYTES:
            raise RuntimeError(
                f"{folder} has {free / 2**30:.1f} GiB free, but the files take "
                f"{needed / 2**30:.1f} GiB and 1 GiB is to stay free; give --folder (or set "
                "FLUVIAL_BENCH_DATA), or a smaller --size"
            )
        times, levels, lats, lons = SMALL
        _make(home / "small", times, f"--level={levels}", f"--lat={lats}", f"--lon={lons}")
        _make(home, steps, "--chunks=" + ",".join(str(extent) for extent in CHUNK))
    small = {format_: home / "small" / path.name for format_, path in paths.items()}
    table = _chunk_places(paths[NETCDF4])
    offsets = {CDF5: _last_variable(paths[CDF5], steps), HDF5: _offset(paths[HDF5])}
    return {
        CDF5: DataFile(CDF5, paths[CDF5], steps, offsets[CDF5], small=small[CDF5]),
        HDF5: DataFile(HDF5, paths[HDF5], steps, offsets[HDF5], small=small[HDF5]),
        NETCDF4: DataFile(NETCDF4, paths[NETCDF4], steps, 0, table, small=small[NETCDF4]),
    }


def _make(home: Path, steps: int, *more: str) -> None:
    command = [sys.executable, str(_GENERATOR), str(home), f"--steps={steps}", *more]
    command += ["--formats", ",".join(_NAMES.values())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")


def _last_variable(path: Path, steps: int) -> int:
    """Return where the variable begins in a classic file that ends with it."""
    return path.stat().st_size - steps * STEP_BYTES


def _offset(path: Path) -> int:
    import h5py

    with h5py.File(path) as file:
        return int(file[VARIABLE].id.get_offset())


def _chunk_places(path: Path) -> Path:
    """Write (offset, bytes) of every chunk, row-major over their grid; returns that file."""
    import h5py

    table = path.with_suffix(".chunks")
    if table.exists():
        return table
    with h5py.File(path) as file:
        dataset = file[VARIABLE]
        grid = [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]
        places = np.zeros([*grid, 2], dtype="<u8")

        def note(chunk: object) -> None:
            at = tuple(
                o // c
                for o, c in zip(chunk.chunk_offset, dataset.chunks, strict=True)  # type: ignore[attr-defined]
            )
            places[at] = chunk.byte_offset, chunk.size  # type: ignore[attr-defined]

        dataset.id.chunk_iter(note)
    places.tofile(table)
    return table


def forget(path: Path) -> None:
    """Ask the system to drop a file from its cache; pages must be clean, so it is synced first."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path: Path) -> None:
    """Read a file so that it lies in the system's cache."""
    for _ in _blocks(path):
        pass


def _blocks(path: Path) -> Iterator[int]:
    buffer = bytearray(2**22)
    with path.open("rb", buffering=0) as file:
        while got := file.readinto(buffer):
            yield got
