# SPDX-License-Identifier: Apache-2.0
"""Names of axes, as openPMD's attribute axisLabels says."""

from __future__ import annotations

from collections.abc import Mapping


def axis_labels(ndim: int, *attributes: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the names of the axes by the first attributes that have one for each; else None.

    >>> axis_labels(2, {}, {"axisLabels": ["y", "x"]})
    ('y', 'x')
    """
    for said in attributes:
        if "axisLabels" not in said:
            continue
        labels = said["axisLabels"]
        labels = [labels] if isinstance(labels, str) and ndim == 1 else labels
        if ndim and isinstance(labels, list) and len(labels) == len(set(labels)) == ndim:
            return tuple(map(str, labels))
    return None
