# SPDX-License-Identifier: Apache-2.0
"""Names of axes, as openPMD's attribute axisLabels says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Described = tuple[str, tuple[int, ...], Mapping[str, object]]
"""Name, shape and attributes of a dataset."""


def axis_labels(ndim: int, *attributes: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the names of the axes by the first attributes that have one for each; else None.

    Where the attributes say that the data is in Fortran's order, they count axes from the last.

    >>> axis_labels(2, {}, {"axisLabels": ["y", "x"]})
    ('y', 'x')
    >>> axis_labels(2, {"axisLabels": ["y", "x"], "dataOrder": "F"})
    ('x', 'y')
    """
    for said in attributes:
        if "axisLabels" not in said:
            continue
        labels = said["axisLabels"]
        labels = [labels] if isinstance(labels, str) and ndim == 1 else labels
        if ndim and isinstance(labels, list) and len(labels) == len(set(labels)) == ndim:
            return tuple(map(str, labels[::-1] if said.get("dataOrder") == "F" else labels))
    return None


def label_by_name(datasets: Iterable[Described]) -> dict[str, str]:
    """Return the labels of datasets that are coordinates by their names alone.

    Of one axis, without a label, and called like an axis of that length of another dataset, in the
    same group or further in.

    >>> u = "fields/u", (4, 6), {"axisLabels": ["lat", "lon"]}
    >>> label_by_name([u, ("lat", (4,), {}), ("lon", (5,), {}), ("other/lat", (4,), {})])
    {'lat': 'lat'}
    """
    axes: set[tuple[str, str, int]] = set()
    alone: list[tuple[str, int]] = []
    for name, shape, attrs in datasets:
        labels = axis_labels(len(shape), attrs)
        if labels is None:
            alone += [(name, shape[0])] if len(shape) == 1 and "axisLabels" not in attrs else []
            continue
        group = name
        while group:
            group = group.rpartition("/")[0]
            axes.update((group, *axis) for axis in zip(labels, shape, strict=True))
    found = {}
    for name, length in alone:
        group, _, short = name.rpartition("/")
        if (group, short, length) in axes:
            found[name] = short
    return found
