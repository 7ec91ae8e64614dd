# SPDX-License-Identifier: Apache-2.0
"""Looking at series: files, numbered files and live streams, which do not notice it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from .._core import InvalidArgument, TimedOut
from ..base.messages import shown
from ..describe.engines import Options
from ..mpi.communicator import world
from ..opening import names_files
from ..opening import open as open_any
from ..pipeline.step_choice import StepChoice
from ..stage.reader import ReadSeries, ReadStep

if TYPE_CHECKING:
    from ..scan.file import File
    from ..scan.file_series import FileSeries
    from ..scan.file_step import FileStep

Step: TypeAlias = "ReadStep | FileStep"
"""A step of a stream or of files."""
Files: TypeAlias = "File | FileSeries"


class Look:
    """A series that is looked at."""

    def __init__(self, name: str, series: ReadSeries | Files) -> None:
        self.name = name
        self.series = series

    @property
    def live(self) -> bool:
        """Whether it is a stream: then there is the newest step alone."""
        return isinstance(self.series, ReadSeries)

    @property
    def left_out(self) -> dict[str, str]:
        """Why what else is stored in a file is no dataset, by name; of a stream nothing."""
        from ..scan.file import File

        return self.series.left_out if isinstance(self.series, File) else {}

    def step(self, number: int | None) -> Step:
        """Return one step: of files by number, or their first; of a stream the newest.

        Raises
        ------
        InvalidArgument
            No such step.
        TimedOut
            A stream has none yet.
        """
        if isinstance(self.series, ReadSeries):
            if number is not None:
                raise InvalidArgument(
                    f"a stream is looked at as it is: got step {number} of {shown(self.name)}; "
                    "allowed: its newest one. Leave --step out, or capture it: fluvial pipe"
                )
            step = self.series.next()
            if step is None:
                raise InvalidArgument(f"the stream {shown(self.name)} has ended, without a step")
            return step
        indices = self.series.steps.indices
        if not indices:
            raise InvalidArgument(f"no step is in {shown(self.name)}; allowed: a series with some")
        if number is None:
            return self.series.steps[0]
        if number not in indices:
            raise InvalidArgument(
                f"no such step in {shown(self.name)}: got {number}; allowed: {numbers(indices)}"
            )
        return self.series.steps[indices.index(number)]

    def steps(self, choice: str | None, count: int | None) -> Iterator[Step]:
        """Give the chosen steps of files, or so many of a stream as they come, one unless said."""
        if not isinstance(self.series, ReadSeries):
            if count is not None:
                raise InvalidArgument(
                    f"--count is of streams: got {count} for {shown(self.name)}; allowed: --steps"
                )
            yield from self._chosen(self.series, choice)
            return
        if choice is not None:
            raise InvalidArgument(
                f"a stream is looked at as it is: got --steps {shown(choice)}; allowed: --count, "
                "for so many of its newest steps"
            )
        for _ in range(1 if count is None else count):
            if (step := self.series.next()) is None:
                return
            yield step

    def _chosen(self, files: Files, choice: str | None) -> Iterator[Step]:
        wanted = StepChoice(choice)
        indices = files.steps.indices
        chosen = [at for at, number in enumerate(indices) if number in wanted]
        if choice is not None and not chosen:
            raise InvalidArgument(
                f"no such step in {shown(self.name)}: got {shown(choice)}; allowed: "
                f"{numbers(indices)}"
            )
        for at in chosen:
            yield files.steps[at]

    def newest(self) -> Step | None:
        """Return the step of which something is told: None where a stream has none yet."""
        with contextlib.suppress(TimedOut):
            return self.series.next() if isinstance(self.series, ReadSeries) else self.step(None)
        return None


@contextlib.contextmanager
def looking_at(
    name: str, wait: float, directory: str | None = None, isolated: bool = False
) -> Iterator[Look]:
    """Open files, or a stream as one that looks on: its writer does not wait for it."""
    options: Options
    if names_files(name):
        options = {"isolated": True} if isolated else {}
        with open_any(name, "r", world(), **options) as series:
            yield Look(name, series)
        return
    if world() is not None:
        raise InvalidArgument(
            f"a stream is looked at by one process: got {shown(name)} in a job of several; "
            "allowed: files. Start the command without mpiexec"
        )
    options = {"directory": directory}
    with open_any(
        name, "r", start="observe", rendezvous_timeout=wait, step_timeout=wait, **options
    ) as series:
        yield Look(name, series)


def numbers(indices: Iterable[int]) -> str:
    """Return numbers of steps in few words.

    >>> numbers([0, 10, 20, 30]), numbers([0, 1, 5]), numbers([7])
    ('0 to 30, each 10th', '0, 1, 5', '7')
    """
    found = list(indices)
    distances = {b - a for a, b in itertools.pairwise(found)}
    if len(found) > 3 and len(distances) == 1:
        (distance,) = distances
        return f"{found[0]} to {found[-1]}" + (f", each {distance}th" if distance > 1 else "")
    if len(found) > 8:
        return f"{found[0]}, {found[1]} … {found[-1]}"
    return ", ".join(map(str, found)) or "none"
