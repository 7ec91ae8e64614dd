# SPDX-License-Identifier: Apache-2.0
"""The reader job: measures what the atoms scatter and how fast they are, output by output.

::

    mpiexec -n 2 python -m mpi4py analyse.py PLAN [--through-files]
"""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from mpi4py import MPI

import fluvial as fl

if not __package__:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from demo.measurements import INPUTS, Notebook, operators
from demo.openpmd_names import POSITION, VELOCITY
from demo.progress import emit
from demo.protocol import Plan


class StreamOutput:
    """One step of the stream, as the analysis sees it."""

    def __init__(self, step: Any, number: int):
        self._step = step
        self.step = number
        self.time = step.time
        self.attrs = step.attrs
        self.seconds_reading = 0.0

    def unit_si(self, name: str) -> float:
        """Return the SI value of a dataset's unit."""
        return float(self._step[name].attrs["unitSI"])

    def reduce(self, operators: dict[str, Any], inputs: dict[str, list[str]]) -> dict[str, Any]:
        """Run all operators in one pass over the step, where it lies; collective."""
        results: dict[str, Any] = self._step.reduce(operators, inputs=inputs)
        return results


class StreamSource(AbstractContextManager["StreamSource"]):
    """The steps of the stream of a plan, until the simulation closes it."""

    def __init__(self, plan: Plan, comm: MPI.Intracomm):
        self._every = plan.heating.every
        self._series = fl.open(plan.stream, comm=comm, start="oldest", directory=plan.contact)

    def __exit__(self, *exception: Any) -> None:
        self._series.__exit__(*exception)

    @property
    def stats(self) -> dict[str, Any]:
        """Return the reader's figures."""
        return dict(self._series.stats)

    def __iter__(self) -> Iterator[StreamOutput]:
        """Yield each step as it becomes complete."""
        for step in self._series:
            yield StreamOutput(step, step.index * self._every)


def main(arguments: list[str]) -> None:
    """Run the job; collective over COMM_WORLD."""
    plan = Plan.read(arguments[0])
    through_files = "--through-files" in arguments
    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        emit("ready")
    if through_files:
        from demo.through_files import FileSource

        source: Any = FileSource(plan, comm)
    else:
        source = StreamSource(plan, comm)

    notebook = Notebook(plan)
    box: tuple[float, ...] = ()
    seconds = {"waiting": 0.0, "analysing": 0.0}
    lag = {"lag": 0, "lag_most": 0}
    with source:
        mark = time.perf_counter()
        for output in source:
            began = time.perf_counter()
            if box != tuple(output.attrs["box"]):
                box = tuple(output.attrs["box"])
                measured = operators(box)
            results = output.reduce(measured, INPUTS)
            units = output.unit_si(POSITION[0]), output.unit_si(VELOCITY[0])
            ended = time.perf_counter()
            seconds["waiting"] += began - mark
            if through_files:
                seconds["reading"] = seconds.get("reading", 0.0) + output.seconds_reading
            seconds["analysing"] += ended - began - output.seconds_reading
            if comm.rank == 0:
                time_unit = output.attrs["timeUnitSI"]
                notebook.add(output.step, output.time * time_unit, results, output.attrs, units)
                lag["lag"] = source.stats.get("lag_steps", 0)
                lag["lag_most"] = max(lag["lag_most"], lag["lag"])
                emit("output", lag=lag["lag"], **notebook.latest())
            mark = time.perf_counter()
        stats = source.stats
    copied = comm.reduce(stats.get("bytes_copied", 0))
    viewed = comm.reduce(stats.get("bytes_viewed", 0))
    if comm.rank == 0:
        name = "files.npz" if through_files else "stream.npz"
        notebook.record().save(pathlib.Path(plan.results, name))
        emit("finished", lag_most=lag["lag_most"], copied=copied, viewed=viewed, **seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
