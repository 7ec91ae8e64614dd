# SPDX-License-Identifier: Apache-2.0
"""Files with single bits inverted: what Fluvial reads of them, and what another library does."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

from flips.cases import Spans
from flips.reader import UNKNOWN

READER = pathlib.Path(__file__).with_name("reader.py")
Answer = dict[str, str] | None  # by name; None: it ended the process


@dataclasses.dataclass(frozen=True)
class Trial:
    """A file with one bit inverted, or with none."""

    path: pathlib.Path
    byte: int = 0
    bit: int | None = None


@dataclasses.dataclass(frozen=True)
class Difference:
    """A number that Fluvial read where the other library refuses or reads another one."""

    trial: Trial
    name: str
    ours: str
    theirs: str


@dataclasses.dataclass
class Verdict:
    """The results of many trials."""

    alone: list[Difference] = dataclasses.field(default_factory=list)  # wrong numbers of ours
    ended: list[Trial] = dataclasses.field(default_factory=list)  # of our process
    refused: int = 0
    together: int = 0  # trials in which both read the same wrong numbers


def every_bit(path: pathlib.Path, data: Spans) -> list[Trial]:
    """Return a trial for each bit of a file, but for those of its data."""
    spared = {at for offset, count in data for at in range(offset, offset + count)}
    size = path.stat().st_size
    return [Trial(path, at, bit) for at in range(size) if at not in spared for bit in range(8)]


def read(library: str, trials: list[Trial]) -> list[Answer]:
    """Return what a library reads in each trial, in as few processes as it lives through."""
    copies = {p: p.with_name(f"{p.name}.{library}") for p in {trial.path for trial in trials}}
    answers: list[Answer] = []
    while len(answers) < len(trials):
        for path, copy in copies.items():
            shutil.copyfile(path, copy)
        lines = [[str(copies[t.path]), t.byte, t.bit] for t in trials[len(answers) :]]
        child = subprocess.run(
            [sys.executable, str(READER), library],
            input="".join(json.dumps(line) + "\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
        )
        answers += [json.loads(line) for line in child.stdout.splitlines() if line.endswith("}")]
        if len(answers) < len(trials):
            if child.returncode >= 0:  # no signal
                raise RuntimeError(f"the reader failed: {child.stderr[-2000:]}")
            answers.append(None)
    for copy in copies.values():
        copy.unlink(missing_ok=True)
    return answers


def compare(library: str, trials: list[Trial]) -> Verdict:
    """Compare Fluvial with a library that is right.

    Fluvial may refuse, or read what the undamaged file says. Where the library reads something
    else, Fluvial may read the same. The library is asked only in the trials where that matters.
    """
    paths = list(dict.fromkeys(trial.path for trial in trials))
    whole = [Trial(path) for path in paths]
    answers = read("fluvial", whole + trials)
    truths = dict(zip(paths, answers[: len(paths)], strict=True))
    verdict = Verdict()
    wrong: list[tuple[Trial, dict[str, str]]] = []
    for trial, answer in zip(trials, answers[len(paths) :], strict=True):
        truth = truths[trial.path] or {}
        if answer is None:
            verdict.ended.append(trial)
        elif numbers := {n: v for n, v in answer.items() if truth.get(n) != v}:
            wrong.append((trial, numbers))
        else:
            verdict.refused += answer != truth
    theirs = read(library, whole + [trial for trial, _ in wrong])
    for path, known in zip(paths, theirs[: len(paths)], strict=True):
        truth = truths[path]
        assert truth, f"Fluvial reads nothing of {path}"
        assert known is not None
        assert truth.items() <= known.items(), f"{path}: {truth} instead of {known}"
    for (trial, numbers), known in zip(wrong, theirs[len(paths) :], strict=True):
        said = {} if known is None else known
        alone = {n: v for n, v in numbers.items() if said.get(n) not in (v, UNKNOWN)}
        verdict.together += not alone
        for name, value in alone.items():
            other = "ended the process" if known is None else said.get(name, "refused")
            verdict.alone.append(Difference(trial, name, value, other))
    return verdict
