# SPDX-License-Identifier: Apache-2.0
"""Datasets of a live step that are read by one call."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from .. import _core
from ..base.arguments import to_names
from ..describe.selection import Selection, to_hyperslab
from ..describe.storage_attributes import DECODING
from .step_views import Read

_LABELS = "axisLabels"
_TELLING = [_LABELS, *DECODING]
"""Attributes of a dataset by which it is more than an array to the program that reads it."""


class _Dataset(Protocol):
    def read(self, selection: Selection = None) -> Read: ...


class _Step(Protocol):
    """What is needed of the step."""

    @property
    def said(self) -> Mapping[str, object]: ...

    def __getitem__(self, name: str) -> _Dataset: ...
    def __iter__(self) -> Iterator[str]: ...


def read_together(
    step: _Step, core: _core.ReadStep, names: Iterable[str] | None, selection: Selection
) -> dict[str, Read]:
    """Return arrays by name; see `ReadStep.read`."""
    wanted = names  # of a list each entry is checked when it is looked for
    if not isinstance(wanted, list):
        wanted = to_names(names, step, "One dataset is read by step[name].read()")
    if _LABELS in step.said:  # all of them may have labels
        return {name: step[name].read(selection) for name in wanted}
    cut = None
    if selection is not None:
        cut = functools.partial(to_hyperslab, selection, new_axes=True, backwards=True)
    read = core.read_together(wanted, cut, _TELLING)
    for name, array in read.items():
        if array is None:
            read[name] = step[name].read(selection)
    return read
