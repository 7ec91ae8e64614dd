# SPDX-License-Identifier: Apache-2.0
"""Results and files as the command line prints them: rows, and what JSON knows."""

from __future__ import annotations

import math
import os

import numpy as np
import xarray as xr

from .._core import DamagedFile, InvalidArgument
from ..scan.file import File
from .tables import Described, DescribedDataset, Plain, Row, layout_in_words


def rows_of(result: xr.Dataset) -> list[Row]:
    """Return one row for each kept position: coordinates, then results."""
    dims = list(dict.fromkeys(str(d) for v in result.data_vars.values() for d in v.dims))
    frame = result.reset_coords(drop=False) if dims else result.reset_coords()
    results = [str(v) for v in result.data_vars]
    coords = sorted(
        map(str, result.coords), key=lambda c: (c not in dims, dims.index(c) if c in dims else 0)
    )
    own = {v: [c for c in coords if c.startswith(f"{v}_")] for v in results}
    shared = [c for c in coords if not any(c in mine for mine in own.values())]
    columns = shared + [column for v in results for column in (v, *own[v])]
    sizes = {d: result.sizes[d] for d in dims}
    places = [place.ravel() for place in np.indices(tuple(sizes.values()))]
    flat: dict[str, np.ndarray] = {
        d: place for d, place in zip(dims, places, strict=True) if d not in columns
    }
    for column in columns:
        flat[column] = frame[column].variable.set_dims(sizes).values.ravel()
    return [
        dict(zip(flat, map(plain, row), strict=True)) for row in zip(*flat.values(), strict=True)
    ]


def plain(value: object) -> Plain:
    """Return what JSON knows: numbers, text (times as ISO 8601), None for NaN and NaT."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        text = str(value)
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.removesuffix("T00:00:00")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def describe_file(file: File) -> Described:
    """Return what `fluvial info` says, as JSON knows it."""
    sizes = map(bytes_at, file.paths)
    datasets: list[DescribedDataset] = []
    for name in file.names:
        try:
            dataset = file[name]
        except (DamagedFile, InvalidArgument) as error:
            datasets.append({"name": name, "error": str(error)})
            continue
        attrs = {key: attribute(value) for key, value in dataset.attrs.items()}
        stored = dataset.stored_dtype.name
        datasets.append(
            {
                "name": name,
                "dtype": stored,
                "dims": list(dataset.dims),
                "shape": list(dataset.shape),
                "layout": layout_in_words(dataset.layout),
                "attributes": attrs,
            }
        )
    return {
        "files": file.paths,
        "format": file.format,
        "bytes": sum(sizes),
        "dimensions": file.dims,
        "attributes": {key: attribute(value) for key, value in file.attrs.items()},
        "datasets": datasets,
        "left_out": file.left_out,
    }


def bytes_at(path: str) -> int:
    """Return the bytes of a file, or of the files in a folder, as Zarr and BP are stored."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )


def attribute(value: object) -> Plain:
    """Return an attribute as JSON knows it."""
    return [plain(item) for item in value] if isinstance(value, list) else plain(value)
