# SPDX-License-Identifier: Apache-2.0
"""Makes files of one 4-D climate variable: any size, smooth plus noise, in bounded memory.

    python make_climate_file.py out --size 256Mi --formats cdf5,netcdf4

writes out/temperature.cdf5.nc and out/temperature.netcdf4.nc with the same values.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from classic_netcdf import ClassicFile
from climate import ATTRIBUTES, DIMENSIONS, NAME, Climate, Shape
from fluvial.base.byte_count import to_bytes
from numpy.typing import NDArray

from fluvial import InvalidArgument

FILES = {
    "cdf5": f"{NAME}.cdf5.nc",
    "hdf5": f"{NAME}.hdf5.nc",
    "netcdf4": f"{NAME}.netcdf4.nc",
    "raw": f"{NAME}.raw",
}


class Output(Protocol):
    """A file open for writing."""

    def append(self, number: int, step: NDArray[np.float32]) -> None:
        """Write time step `number`."""

    def close(self) -> None:
        """Close the file."""


class RawFile:
    """The values alone, little-endian, with a description beside them in JSON."""

    def __init__(self, path: Path, climate: Climate) -> None:
        self._file = path.open("wb")
        description = {
            "name": NAME,
            "dtype": "<f4",
            "shape": climate.shape.extents,
            "dimensions": DIMENSIONS,
            "attributes": ATTRIBUTES,
        }
        path.with_suffix(".json").write_text(json.dumps(description, indent=2) + "\n")

    def append(self, number: int, step: NDArray[np.float32]) -> None:
        """Append one step."""
        self._file.write(memoryview(step.astype("<f4", copy=False)).cast("B"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write(
    folder: Path,
    climate: Climate,
    formats: list[str],
    *,
    record: bool = False,
    chunks: tuple[int, ...] | None = None,
    deflate: int = 1,
    progress: Callable[[int], None] = lambda number: None,
) -> dict[str, Path]:
    """Write one file a format, all with the same values; returns them by format.

    A file gets its name when it is whole and on the disk.  Takes the memory of a few time steps.
    """
    shape = climate.shape
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / FILES[name] for name in formats}
    partial = {name: path.with_name(path.name + ".part") for name, path in paths.items()}
    if chunks is None:
        chunks = (1, min(4, shape.level), -(-shape.lat // 2), -(-shape.lon // 2))
    make: dict[str, Callable[[Path], Output]] = {
        "cdf5": lambda path: ClassicFile(path, climate, record),
        "hdf5": lambda path: _hierarchical(path, climate, None, deflate, False),
        "netcdf4": lambda path: _hierarchical(path, climate, chunks, deflate, record),
        "raw": lambda path: RawFile(path, climate),
    }
    outputs = {name: make[name](path) for name, path in partial.items()}
    for number in range(shape.time):
        step = climate.step(number)
        for output in outputs.values():
            output.append(number, step)
        progress(number + 1)
    for name, output in outputs.items():
        output.close()
        with partial[name].open("rb+") as file:
            os.fsync(file.fileno())
        partial[name].replace(paths[name])
    return paths


def _hierarchical(
    path: Path, climate: Climate, chunks: tuple[int, ...] | None, deflate: int, record: bool
) -> Output:
    from hierarchical import HierarchicalFile

    return HierarchicalFile(path, climate, chunks, deflate, record)


def parse_size(text: str) -> int:
    """``64Mi``, ``4 GiB`` or ``1000000`` in bytes."""
    try:
        return to_bytes(text, "--size")
    except InvalidArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_formats(text: str) -> list[str]:
    """Names of formats, comma-separated."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [name for name in names if name not in FILES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"formats {text!r}: choose from {', '.join(FILES)}")
    return names


def parse_chunks(text: str) -> tuple[int, ...]:
    """Four extents, the first of which is 1."""
    words = text.split(",")
    if len(words) != 4 or not all(word.strip().isdigit() for word in words) or int(words[0]) != 1:
        raise argparse.ArgumentTypeError(f"chunks {text!r}: give four extents, the first 1")
    return tuple(max(1, int(word)) for word in words)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument(
        "--size",
        type=parse_size,
        default=parse_size("256Mi"),
        help="about how large the variable is uncompressed, such as 4Gi; sets the number of time "
        "steps (default 256Mi)",
    )
    parser.add_argument("--steps", type=int, help="number of time steps, instead of --size")
    parser.add_argument("--level", type=int, default=32, help="number of levels (default 32)")
    parser.add_argument("--lat", type=int, default=360, help="number of latitudes (default 360)")
    parser.add_argument("--lon", type=int, default=720, help="number of longitudes (default 720)")
    parser.add_argument(
        "--formats",
        type=parse_formats,
        default=["cdf5", "netcdf4"],
        help="any of cdf5 (netCDF classic, big-endian), hdf5 (netCDF-4, contiguous), netcdf4 "
        "(chunks, shuffle, deflate), raw; comma-separated (default cdf5,netcdf4)",
    )
    parser.add_argument(
        "--record", action="store_true", help="make time unlimited (cdf5 and netcdf4)"
    )
    parser.add_argument(
        "--chunks", type=parse_chunks, help="of netcdf4: 1,levels,lats,lons (default 1,4,½,½)"
    )
    parser.add_argument("--deflate", type=int, default=1, choices=range(1, 10), help="default 1")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default 0)")
    parser.add_argument("--noise", type=float, default=0.5, help="its size in K (default 0.5)")
    return parser.parse_args(words)


def main() -> None:
    """Write the files and say where they are."""
    asked: Any = arguments()
    extents = asked.level, asked.lat, asked.lon
    steps = asked.steps or max(1, round(asked.size / Shape(1, *extents).bytes))
    shape = Shape(steps, *extents)
    needed = shape.bytes * len(asked.formats)
    asked.folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(asked.folder).free
    if free < needed:
        sys.exit(
            f"{asked.folder} has {free / 2**30:.1f} GiB free, up to {needed / 2**30:.1f} GiB are "
            "needed; choose another folder or a smaller --size"
        )

    def progress(number: int) -> None:
        if sys.stderr.isatty():
            print(f"\rstep {number} of {steps}", end="", file=sys.stderr, flush=True)

    paths = write(
        asked.folder,
        Climate(shape, asked.seed, asked.noise),
        asked.formats,
        record=asked.record,
        chunks=asked.chunks,
        deflate=asked.deflate,
        progress=progress,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    sizes = " × ".join(f"{n} {d}" for n, d in zip(shape.extents, DIMENSIONS, strict=True))
    print(f"{NAME}: float32, {sizes}")
    for name, path in paths.items():
        print(f"{path}: {name}, {path.stat().st_size / 2**20:,.1f} MiB")


if __name__ == "__main__":
    main()
