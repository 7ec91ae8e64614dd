# SPDX-License-Identifier: Apache-2.0
"""MPI jobs that run side by side for a bench, and the figures that they leave in files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.options import BUILD, ROOT

if TYPE_CHECKING:
    from fluvial.launch import Launcher

SITE = BUILD / "mpich" / "prefix" / "site"
EXAMPLE = ROOT / "examples" / "14_staging"


class JobError(RuntimeError):
    """A job did not end well; the message has its last words."""


@dataclass(frozen=True)
class Job:
    """So many ranks of a program."""

    ranks: int
    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_example(cls, ranks: int, name: str, *words: object, options: str = "") -> Job:
        """Return a program of examples/14_staging, with what FLUVIAL_OPTIONS says."""
        command = [sys.executable, "-m", "mpi4py", str(EXAMPLE / name), *map(str, words)]
        return cls(ranks, command, {"FLUVIAL_OPTIONS": options} if options else {})

    @classmethod
    def of_pipe(cls, ranks: int, *words: object) -> Job:
        """Return `fluvial pipe` with these words."""
        return cls(ranks, [sys.executable, "-m", "fluvial", "pipe", *map(str, words)])


def launcher() -> Launcher:
    """Return what starts jobs of the library that was built."""
    if str(SITE) not in sys.path:
        sys.path.insert(0, str(SITE))
    from fluvial.launch import Launcher

    return Launcher.of_kind("mpich")


def run_together(jobs: Sequence[Job], folder: Path, limit_s: float) -> None:
    """Run jobs side by side in a folder until all have ended.

    Raises
    ------
    JobError
        One did not end well, or not in time.
    """
    start = launcher()
    with ExitStack() as running:
        started: list[Any] = []
        for number, job in enumerate(jobs):
            log = running.enter_context((folder / f"job{number}.log").open("w+"))
            environment = {
                "PYTHONPATH": str(SITE),
                "FLUVIAL_DIRECTORY": str(folder),
                **job.environment,
            }
            one = start.start(
                job.ranks,
                list(job.words),
                timeout=limit_s,
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            started.append((running.enter_context(one), log))
        for job, log in started:
            if (code := job.wait()) != 0:
                log.seek(0)
                raise JobError(f"a job ended with {code}: {log.read()[-2000:]}")


def box_of(values: Sequence[float]) -> dict[str, Any]:
    """Return what a boxplot shows: quartiles, whiskers as the paper has them, and what is beyond.

    >>> box_of([1, 2, 3, 4, 100])["fliers"], box_of([1, 2, 3, 4, 100])["whishi"]
    ([100.0], 4.0)
    """
    found = np.sort(np.asarray(values, float))
    low, middle, high = (float(q) for q in np.quantile(found, [0.25, 0.5, 0.75]))
    reach = 1.5 * (high - low)
    inside = found[(found >= low - reach) & (found <= high + reach)]
    outside = found[(found < low - reach) | (found > high + reach)]
    return {
        "q1": low,
        "med": middle,
        "q3": high,
        "whislo": float(inside[0]),
        "whishi": float(inside[-1]),
        "fliers": [round(float(value), 9) for value in outside],
    }


def free_folder(parent: Path | None) -> Path:
    """Return where the files of a bench lie: what is asked for, or /var/tmp."""
    folder = Path("/var/tmp") if parent is None else parent
    if not os.access(folder, os.W_OK):
        raise JobError(f"cannot write to {folder}")
    return folder


def settle() -> None:
    """Wait until the files of the last jobs are on the disk, so that they disturb no other job."""
    os.sync()
    time.sleep(0.2)
