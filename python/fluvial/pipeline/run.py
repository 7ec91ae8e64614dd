# SPDX-License-Identifier: Apache-2.0
"""All steps of sources into a series."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping

from .interruption import Interruption
from .pacing import Pacing
from .series import Sink
from .sources import JoinedStep, Sources
from .transfer import Transfer


@dataclasses.dataclass
class PipeReport:
    """What a pipe has done so far."""

    steps: int = 0
    """That are in the destination."""
    bytes: int = 0
    """Of their datasets, all ranks together."""
    seconds: float = 0.0
    """Since the first step was there."""
    loading: float = 0.0
    """Seconds in which this rank took elements from the sources."""
    storing: float = 0.0
    """Seconds that the destination took for them."""
    total: int | None = None
    """Steps that there are to pipe; None where the source is live."""
    lost: int = 0
    """Steps that policies of the sources' writers have discarded on the way here."""
    discarded: int = 0
    """Steps that the destination's policy has discarded."""

    @property
    def bytes_per_second(self) -> float:
        """Throughput; 0 where there was no time."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


OnStep = Callable[[PipeReport], object] | None


def run(
    sources: Sources,
    steps: Iterable[JoinedStep],
    sink: Sink,
    transfer: Transfer,
    pacing: Pacing,
    report: PipeReport,
    on_step: OnStep,
) -> None:
    """Put the steps of the sources into the sink, and keep count in `report`. Collective.

    Raises
    ------
    KeyboardInterrupt
        SIGINT came; the step that was under way is whole, or not in the sink at all.
    """
    begun: float | None = None
    report.total = sources.total
    with Interruption() as interruption:
        for step in steps:
            begun = time.monotonic() if begun is None else begun
            pacing.wait(step)
            sink.attrs.update(of_series := sources.attrs)
            took = time.monotonic()
            out, nbytes = transfer.put(sink, step, _of_step(step, of_series, report.total))
            stored = time.monotonic()
            report.loading += stored - took
            with interruption.held_back():  # a step that has ended is counted
                accepted = out.accepted
                out.__exit__(None, None, None)
                report.storing += time.monotonic() - stored
                report.lost += step.skipped
                report.steps += 1 if accepted else 0
                report.bytes += nbytes if accepted else 0
                report.discarded += 0 if accepted else 1
            report.seconds = time.monotonic() - begun
            if on_step is not None:
                on_step(report)


def _of_step(
    step: JoinedStep, of_series: Mapping[str, object], total: int | None
) -> Mapping[str, object]:
    """Return the attributes of a step; those of a file that is one step are the series' already."""
    if total is None or "openPMD" in of_series:
        return step.attrs
    return {
        name: value
        for name, value in step.attrs.items()
        if name in ("time", "dt") or name not in of_series
    }
