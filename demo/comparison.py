# SPDX-License-Identifier: Apache-2.0
"""The two pipelines side by side: times, throughput, and whether they measured the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from demo.jobs import Outcome
from demo.physics import Check
from demo.record import Record

SAME = 1e-6


@dataclass(frozen=True)
class Span:
    """A stretch of a job's time, in seconds since its pipeline began.

    Attributes
    ----------
    job
        ``simulation`` or ``analysis``.
    launched, ready, first_output, finished, ended
        When mpiexec started, the program was set up, its first output was there, its work was done,
        the job was gone.
    """

    job: str
    launched: float
    ready: float
    first_output: float
    finished: float
    ended: float


@dataclass(frozen=True)
class Comparison:
    """What both pipelines took.

    Attributes
    ----------
    stream, files
        Spans of both jobs, per pipeline.
    bytes_moved
        Bytes of atoms that the simulation handed over, in each of the two.
    lag_most
        Steps by which the reader of the stream was behind at most.
    bytes_viewed, bytes_copied
        Of the stream, what the analysis saw where it lay, and what it had to gather.
    staging_rate
        Bytes a second at which one rank copied its atoms into the staging area.
    figures
        Per pipeline and job, seconds spent on what.
    syncing
        Seconds that it took to force the files onto the disk when all was done; not counted in the
        pipeline's time.
    versions
        Programs and their versions.
    """

    stream: tuple[Span, ...]
    files: tuple[Span, ...]
    bytes_moved: int
    lag_most: int
    bytes_viewed: int
    bytes_copied: int
    staging_rate: float
    figures: dict[str, dict[str, float]]
    syncing: float
    versions: dict[str, str]

    @classmethod
    def of(
        cls, stream: dict[str, Outcome], files: dict[str, Outcome], syncing: float
    ) -> Comparison:
        """Make it from what became of the jobs."""
        writer, reader = stream["simulation"].figures, stream["analysis"].figures
        figures: dict[str, dict[str, float]] = {}
        for pipeline, outcomes in (("stream", stream), ("files", files)):
            for job, outcome in outcomes.items():
                figures[f"{pipeline} {job}"] = {
                    name: float(outcome.figures[name])
                    for name in ("simulating", "writing", "waiting", "reading", "analysing")
                    if name in outcome.figures
                }
        return cls(
            stream=_spans(stream),
            files=_spans(files),
            bytes_moved=writer["bytes"],
            lag_most=reader["lag_most"],
            bytes_viewed=reader["viewed"],
            bytes_copied=reader["copied"],
            staging_rate=writer["copied_here"] / max(1e-9, writer["copying"]),
            figures=figures,
            syncing=syncing,
            versions={"LAMMPS": writer["version"], "MPI": writer["mpi"]},
        )

    @property
    def stream_seconds(self) -> float:
        """From the start of both jobs to the end of the later."""
        return max(span.ended for span in self.stream)

    @property
    def files_seconds(self) -> float:
        """From the start of the simulation to the end of the analysis after it."""
        return max(span.ended for span in self.files)

    @property
    def first_results(self) -> tuple[float, float]:
        """Seconds until the analysis had its first result, through the stream and through files."""
        stream, files = (
            next(span.first_output for span in spans if span.job == "analysis")
            for spans in (self.stream, self.files)
        )
        return stream, files

    @property
    def throughput(self) -> float:
        """Bytes a second that went through the stream, from first work to last."""
        began = max(span.ready for span in self.stream)
        return self.bytes_moved / max(1e-9, max(s.finished for s in self.stream) - began)

    def headline(self) -> str:
        """Return what streaming gains first of all: when the first result is there, both ways."""
        stream, files = self.first_results
        return (
            f"The first scattering pattern was there {stream:.1f} s after the start; through files "
            f"it came after {files:.1f} s."
        )

    def summary(self) -> str:
        """Return the times of the whole runs and what was moved, in one line."""
        return (
            f"The whole run took {self.stream_seconds:.1f} s through the stream and "
            f"{self.files_seconds:.1f} s through files "
            f"({self.files_seconds / self.stream_seconds:.2f}×). "
            f"{self.bytes_moved / 1e6:,.0f} MB never touched the disk "
            f"({self.throughput / 1e6:.1f} MB/s); the reader was at most "
            f"{self.lag_most} step{'s' * (self.lag_most != 1)} behind."
        )


def _spans(outcomes: dict[str, Outcome]) -> tuple[Span, ...]:
    began = min(outcome.launched for outcome in outcomes.values())
    return tuple(
        Span(job, *(t - began for t in (o.launched, o.ready, o.first_output, o.finished, o.ended)))
        for job, o in outcomes.items()
    )


def same_results(stream: Record, files: Record) -> Check:
    """Check that both pipelines measured the same S(|q|) at every output.

    The simulation is deterministic on the same number of ranks, so the data are the same bits.
    """
    if stream.s.shape != files.s.shape:
        return Check(
            "both pipelines measure the same",
            False,
            f"{len(stream.s)} and {len(files.s)} outputs",
            "the same",
        )
    known = ~np.isnan(files.s)
    scale = np.maximum(np.abs(files.s[known]), 1e-3)
    apart = float((np.abs(stream.s[known] - files.s[known]) / scale).max())
    return Check(
        "both pipelines measure the same",
        apart < SAME,
        f"S(|q|) differs by {apart:.1g} at most",
        f"less than {SAME:.0g}",
    )
