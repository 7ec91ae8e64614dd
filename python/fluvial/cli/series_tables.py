# SPDX-License-Identifier: Apache-2.0
"""What is in a series, as rows: its datasets, and their least, largest and mean elements a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .._core import DamagedFile, InvalidArgument
from ..base.messages import shown
from ..pipeline.conversion import DatasetChoice
from ..stage.dataset import Dataset
from ..stage.reader import ReadSeries
from .looks import Look, Step, numbers
from .rows import attribute, bytes_at, plain
from .stream_status import status_of
from .tables import Described, DescribedDataset, Row, layout_in_words

_STATISTICS = ("min", "max", "mean")


def describe_series(look: Look) -> Described:
    """Return what `fluvial info` says of a stream, or of files with a number each."""
    step = look.newest()
    series = look.series
    described: Described
    if isinstance(series, ReadSeries):
        described = {"files": [look.name], "format": "stream", "bytes": None}
        described |= {"status": status_of(series)}
    else:
        described = {"files": series.paths, "format": series.format}
        described |= {"bytes": sum(map(bytes_at, series.paths))}
        described |= {"steps": len(series.steps), "numbers": numbers(series.steps.indices)}
    described |= {
        "step": None if step is None else step.iteration,
        "time": None if step is None else plain(step.time),
        "dimensions": {},
        "attributes": {k: attribute(v) for k, v in series.attrs.items()},
        "datasets": [] if step is None else [_described(step, name) for name in step.names()],
    }
    return described


def dataset_rows(look: Look, datasets: list[str]) -> list[Row]:
    """Return a row for each dataset of a series: what it is, and in how many steps."""
    choice = DatasetChoice(datasets or None)
    rows: dict[str, Row] = {}
    steps: dict[str, int] = {}
    count = 0
    for step in look.steps(None, None):
        count += 1
        for name in choice.of(step.names()):
            steps[name] = steps.get(name, 0) + 1
            if name not in rows:
                rows[name] = _listed(_described(step, name))
    if count:
        _check_found(look, datasets, rows)
    return [row | {"steps": steps[name]} for name, row in rows.items()]


def _check_found(look: Look, datasets: list[str], found: Iterable[str]) -> None:
    """Refuse a name or a pattern that nothing is called by."""
    known = list(found)
    for pattern in datasets:
        if not DatasetChoice(pattern).of(known):
            raise InvalidArgument(
                f"no dataset of {shown(look.name)} is called so: got {shown(pattern)}; allowed: "
                "names and patterns of what `fluvial ls` lists"
            )


def _listed(described: DescribedDataset) -> Row:
    attrs = described.get("attributes", {})
    return {
        "dataset": described["name"],
        "dtype": described.get("dtype"),
        "shape": "×".join(map(str, described.get("shape", ()))) or "scalar",
        "dims": ", ".join(described.get("dims", ())),
        "unit": described.get("error") or attrs.get("units", attrs.get("unitSI")),
    }


def statistic_rows(
    look: Look, datasets: list[str], steps: str | None, count: int | None
) -> Iterator[Row]:
    """Give a row for each dataset of each step: its least, largest and mean element."""
    choice = DatasetChoice(datasets or None)
    listed: set[str] = set()
    some = False
    for step in look.steps(steps, count):
        some = True
        for name in choice.of(step.names()):
            listed.add(name)
            found: Row = dict.fromkeys(_STATISTICS)
            try:
                found |= _statistics(step, name)
            except DamagedFile as error:
                found["min"] = str(error)
            time = plain(step.time)
            yield {"step": step.iteration, "time": time, "dataset": name} | found
    if some:
        _check_found(look, datasets, listed)


def _statistics(step: Step, name: str) -> Row:
    try:
        dataset = step[name]
    except InvalidArgument as error:  # of a codec that is not known
        return {"min": str(error)}
    if dataset.size == 0:
        return {}
    operators = {name: name for name in _STATISTICS}
    try:
        if isinstance(dataset, Dataset):
            found = dataset.reduce(operators, local=True)
        else:
            found = dataset.reduce(operators)
    except InvalidArgument:
        return {}  # complex numbers have no least one
    return {name: plain(np.asarray(found[name])[()]) for name in _STATISTICS}


def _described(step: Step, name: str) -> DescribedDataset:
    try:
        dataset = step[name]
        layout = getattr(dataset, "layout", None)
    except (DamagedFile, InvalidArgument) as error:
        return {"name": name, "error": str(error)}
    chunks = "" if layout is not None else f"{len(dataset.chunks or ())} chunks"
    return {
        "name": name,
        "dtype": dataset.stored_dtype.name,
        "dims": list(dataset.dims),
        "shape": list(dataset.shape),
        "layout": chunks if layout is None else layout_in_words(layout),
        "attributes": {key: attribute(value) for key, value in dataset.attrs.items()},
    }
