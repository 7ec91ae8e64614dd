# SPDX-License-Identifier: Apache-2.0
"""Pictures of a dataset: lines of one axis, a slice of more, a histogram."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .._core import InvalidArgument
from ..base.arguments import said_by
from ..base.messages import shown
from ..compute.distribution_operators import Histogram
from ..flow.timeline import PICTURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..scan.options import ScanOptions
    from ..stage.lazy_dataset import LazyDataset

_ELEMENTS_MAX = 2000  # along an axis: what a picture can show


def draw(dataset: LazyDataset, path: str, title: str, bins: int | None, live: bool) -> None:
    """Draw a dataset into a file. Of more than two axes the middle of the leading ones is drawn.

    Raises
    ------
    InvalidArgument
        Matplotlib is not installed, or does not write this kind of file; nothing can be drawn.
    """
    figure = new_figure()
    axes = figure.add_subplot()
    if dataset.size == 0 or dataset.dtype.kind == "c":
        raise InvalidArgument(
            f"there is nothing to draw: got {dataset.dtype} of shape {dataset.shape}; allowed: "
            "real numbers, at least one"
        )
    if bins is not None:
        counts, edges = _histogram(dataset, bins, live)
        axes.stairs(counts, edges, fill=True)
        axes.set_xlabel(_with_unit(dataset.name, dataset.attrs), parse_math=False)
        axes.set_ylabel("elements")
    else:
        title = _draw_slice(figure, axes, dataset, title)
    axes.set_title(title, parse_math=False)
    save(figure, path)


def save(figure: Figure, path: str) -> None:
    """Write a picture into a file.

    Raises
    ------
    InvalidArgument
        Matplotlib does not write this kind of file, or not there.
    """
    check_picture(path)
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise _cannot_write(path, said_by(error)) from None


def check_picture(path: str) -> None:
    """Refuse what is not called as a picture, or is in no folder.

    Raises
    ------
    InvalidArgument
        It ends otherwise, or its folder is not there.
    """
    if not path.lower().endswith(PICTURES):
        raise _cannot_write(path, "of another kind")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise _cannot_write(path, "there is no such folder")


def _cannot_write(path: str, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"the picture cannot be written: got {shown(path)} ({reason}); allowed: a path that ends "
        f"in {', '.join(PICTURES)}, in a folder that exists"
    )


def _draw_slice(figure: Figure, axes: Axes, dataset: LazyDataset, title: str) -> str:
    """Draw one or two axes; return the title, with what was chosen of the others."""
    attrs = dataset.attrs
    for dim in dataset.dims[:-2]:
        middle = dataset.shape[dataset.dims.index(dim)] // 2
        dataset = dataset.isel({dim: middle})
        title = f"{title}, {dim} {middle}"
    coarse = {d: slice(None, None, -(-n // _ELEMENTS_MAX)) for d, n in _sizes(dataset)}
    array = dataset.isel(coarse).read()
    along, names = [], []
    for dim, length in _sizes(dataset):
        labels = np.asarray(array.coords[dim].values) if dim in array.coords else None
        drawn = labels is not None and _can_be_drawn(labels, ordered=len(dataset.dims) == 2)
        along.append(labels if labels is not None and drawn else np.arange(0, length)[coarse[dim]])
        names.append(dim if drawn or labels is None else f"{dim} (position)")
    label = _with_unit(dataset.name, attrs)
    if len(along) < 2:
        line = along[0] if along else np.zeros(1)
        axes.plot(line, np.atleast_1d(array.values), marker="." if line.size < 50 else "")
        axes.set_xlabel(names[0] if names else "", parse_math=False)
        axes.set_ylabel(label, parse_math=False)
        return title
    colours = axes.pcolormesh(along[1], along[0], array.values, shading="nearest")
    figure.colorbar(colours).set_label(label, parse_math=False)
    axes.set_xlabel(names[1], parse_math=False)
    axes.set_ylabel(names[0], parse_math=False)
    return title


def _can_be_drawn(labels: np.ndarray, ordered: bool) -> bool:
    """Tell whether an axis can have these labels: all are there, and in order where they must be.

    >>> _can_be_drawn(np.array([3.0, 1.0, 2.0]), ordered=False)
    True
    >>> _can_be_drawn(np.array([3.0, 1.0, 2.0]), ordered=True)
    False
    """
    if labels.dtype.kind not in "iufM":
        return True
    if labels.dtype.kind == "M":
        if np.isnat(labels).any():
            return False
        labels = labels.astype("i8")
    if not np.isfinite(labels).all():
        return False
    return not ordered or bool((labels[1:] > labels[:-1]).all() or (labels[1:] < labels[:-1]).all())


def _sizes(dataset: LazyDataset) -> list[tuple[str, int]]:
    return list(zip(dataset.dims, dataset.shape, strict=True))


def _histogram(dataset: LazyDataset, bins: int, live: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and edges between the least and the largest element; reads two times."""
    local: ScanOptions = {"local": True} if live else {}
    low, high = (float(np.asarray(dataset.reduce(name, **local))) for name in ("min", "max"))
    if not np.isfinite([low, high]).all():
        raise InvalidArgument(
            f"there is no histogram of this: got elements from {low} to {high}; allowed: finite "
            "ones. Select a part by --isel or --where"
        )
    high = high if high > low else low + 1
    found = dataset.reduce(Histogram(bins=bins, range=(low, high), skipna=True), **local)
    counts = found.counts if hasattr(found, "counts") else np.asarray(found)
    return counts, np.linspace(low, high, bins + 1)


def _with_unit(name: str, attrs: Mapping[str, object]) -> str:
    unit = attrs.get("units")
    return f"{name} ({unit})" if isinstance(unit, str) and unit else name


def new_figure() -> Figure:
    """Return an empty picture of Matplotlib's.

    Raises
    ------
    InvalidArgument
        Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidArgument(
            f"to draw needs a Python package that is not installed: got {error}; allowed: "
            "matplotlib. Run: pip install matplotlib"
        ) from None
    return Figure(figsize=(7, 5))
