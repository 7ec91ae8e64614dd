# SPDX-License-Identifier: Apache-2.0
"""One step of a series put into another, by all ranks, each its share."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..describe.dates import OF_TIME, TIME, Date, step_attributes, to_date
from ..describe.records import is_record
from ..describe.storage_attributes import carried_attributes
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece
from ..mpi.communicator import Communicator
from .adjoining import coalesced
from .conversion import Conversion, DatasetChoice, converted, with_sign, without_unsigned
from .region import Region, check_dims, region_of
from .series import PipedDataset, PipedStep, Sink, SinkStep
from .sources import JoinedStep


class Sharing(NamedTuple):
    """Which rank reads what."""

    comm: Communicator | None
    strategy: Strategy
    own: Mapping[str, Own] | None


class Selecting(NamedTuple):
    """What of each step is piped."""

    datasets: DatasetChoice
    conversion: Conversion
    isel: Mapping[str, object]
    sel: Mapping[str, object]


class _Load(NamedTuple):
    """A dataset on its way."""

    dataset: PipedDataset
    region: Region
    sign: str
    """That the stored integers have, "i" or "u", where others are made of them; "": their own."""
    dtype: np.dtype
    attrs: dict[str, object]
    pieces: list[Piece]
    value: np.ndarray | None
    """Of all elements, where the source says that it is but one."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.region.shape) * self.dtype.itemsize


class Transfer:
    """Puts steps into a series, which is open for writing."""

    def __init__(self, sharing: Sharing, selecting: Selecting) -> None:
        self._sharing = sharing
        self._selecting = selecting
        self._said: dict[str, dict[str, object]] = {}
        self._unchecked = True

    def check(self, step: JoinedStep) -> None:
        """Raise where what was asked for does not fit a step, before anything is written."""
        self._loads(step)

    def put(
        self, sink: Sink, step: JoinedStep, attrs: Mapping[str, object]
    ) -> tuple[SinkStep, int]:
        """Put a step with these attributes into the series; return it, still to be ended.

        Collective. Beside it stand its bytes, those of all ranks.
        """
        loads = self._loads(step)
        date = to_date(step.time)
        as_records = getattr(sink, "coordinates", None) is not None
        if as_records:
            date = None if TIME in loads else date
            attrs = _of_record(attrs, loads, date)
        elif date is not None:
            attrs = {**attrs, TIME: date.seconds, **step_attributes(date.attrs)}
        out = sink.step(attrs=attrs, iteration=step.iteration, groups=step.groups)
        try:
            if out.accepted:
                for name, load in loads.items():
                    self._put(out, name, load)
                if as_records and date is not None and self._is_first:
                    out.put(TIME, np.array(date.seconds), None, None, date.attrs)
        except BaseException:
            out.__exit__(*sys.exc_info())
            raise
        return out, sum(load.nbytes for load in loads.values())

    def _loads(self, step: JoinedStep) -> dict[str, _Load]:
        found: dict[str, _Load] = {}
        self._check(step)
        for part in step.parts:
            names = self._selecting.datasets.of(part.names())
            shares = self._shares(part, names)
            for name in names:
                found[name] = self._load(part, name, shares[name])
        return found

    def _check(self, step: JoinedStep) -> None:
        """Raise where what was asked for fits nothing in the first step."""
        if not self._unchecked:
            return
        self._unchecked = False
        datasets, conversion, isel, sel = self._selecting
        of_all = {name: part[name] for part in step.parts for name in datasets.of(part.names())}
        datasets.check([name for part in step.parts for name in part.names()])
        conversion.check({name: dataset.stored_dtype for name, dataset in of_all.items()})
        check_dims(list(of_all.values()), isel, sel)

    def _shares(self, part: PipedStep, names: list[str]) -> dict[str, list[Piece]]:
        comm, strategy, own = self._sharing
        stored = hasattr(part, "comm")  # a step of files; pieces of a live one are read in place
        if stored and comm is None:
            return {
                name: [Piece((0,) * part[name].ndim, tuple(part[name].shape))] for name in names
            }
        shares = part.mine(strategy, names, own=own)
        return {name: coalesced(shares[name]) if stored else shares[name] for name in names}

    def _load(self, step: PipedStep, name: str, pieces: list[Piece]) -> _Load:
        dataset = step[name]
        region = region_of(dataset, self._selecting.isel, self._selecting.sel)
        dtype = self._selecting.conversion.dtype_of(
            name, dataset.stored_dtype, _is_coordinate(step, name)
        )
        attrs, sign = carried_attributes(dataset.attrs), ""
        if dtype != dataset.stored_dtype:
            sign, attrs = without_unsigned(attrs, dataset.stored_dtype)
        labels = list(dataset.dims)
        if "axisLabels" not in attrs and labels != [f"dim_{axis}" for axis in range(len(labels))]:
            attrs["axisLabels"] = labels[::-1] if attrs.get("dataOrder") == "F" else labels
        attrs = region.attributes(attrs, dataset.shape)
        value = _only_value(dataset)
        if _says_constant(attrs, dataset.shape):
            attrs["shape"] = list(region.shape)
        if value is not None:
            value = converted(with_sign(value, sign), dtype, name)
            attrs = {key: said for key, said in attrs.items() if key not in ("value", "shape")}
            attrs |= {"value": value.item(), "shape": list(region.shape)} if region.shape else {}
        return _Load(dataset, region, sign, dtype, attrs, pieces, value)

    @property
    def _is_first(self) -> bool:
        """Whether this rank is the first one, or alone."""
        return self._sharing.comm is None or self._sharing.comm.rank == 0

    def _put(self, out: SinkStep, name: str, load: _Load) -> None:
        shape = load.region.shape
        if math.prod(shape) == 0:
            if self._is_first:
                empty = np.empty(shape, load.dtype)
                out.put(name, empty, None, None, self._news(name, load.attrs))
            return
        for piece in load.pieces:
            if (cut := load.region.cut(piece)) is None:
                continue
            if load.value is None:
                stored = with_sign(load.dataset.stored(cut.selection), load.sign)
                values = converted(stored, load.dtype, name)
            else:
                values = np.broadcast_to(load.value, _extent(cut.selection))
            out.put(name, values, cut.offset, shape, self._news(name, load.attrs))

    def _news(self, name: str, attrs: dict[str, object]) -> dict[str, object] | None:
        """Return attributes of a dataset that this rank has not put yet; writers keep the rest."""
        if self._said.get(name) == attrs:
            return None
        self._said[name] = attrs
        return attrs


def _is_coordinate(step: PipedStep, name: str) -> bool:
    """Tell whether a dataset is the time, or called like its axis, but no component of a record."""
    group, _, own = name.rpartition("/")
    called_so = tuple(step[name].dims) == (own,)
    return own == TIME or (called_so and not is_record(group, step.groups.get(group, {})))


def _of_record(
    attrs: Mapping[str, object], loads: Mapping[str, _Load], date: Date | None
) -> dict[str, object]:
    """Return the attributes of a step that becomes a record, but for those that its datasets say.

    Records have the time and other numbers of their steps as variables, which a pipe from such
    files carries as datasets without axes.
    """
    said = {name for name, load in loads.items() if not load.region.shape}
    said |= set() if date is None else {TIME}
    said |= OF_TIME if TIME in said else set()
    return {name: value for name, value in attrs.items() if name not in said}


def _extent(selection: tuple[int | slice, ...]) -> tuple[int, ...]:
    return tuple(
        len(range(at.start, at.stop, at.step)) for at in selection if isinstance(at, slice)
    )


def _only_value(dataset: PipedDataset) -> np.ndarray | None:
    """Return the value of a constant component of openPMD in a file; None for other datasets."""
    said = getattr(dataset, "constant", None)
    if not isinstance(said, bool | int | float) or dataset.stored_dtype.kind not in "biuf":
        return None
    value = np.array(said).astype(dataset.stored_dtype)
    return value if value.dtype.kind == "f" or value.item() < 2**63 else None


def _says_constant(attrs: Mapping[str, object], shape: tuple[int, ...]) -> bool:
    """Tell whether attributes are those of a constant component, which a live one has beside data.

    Whether all elements are that value is another question, for the program that writes them.
    """
    return "value" in attrs and bool(shape) and attrs.get("shape") in (list(shape), *shape[:1])
