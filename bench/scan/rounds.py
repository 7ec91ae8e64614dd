# SPDX-License-Identifier: Apache-2.0
"""Lets the contestants take turns on the cases: trials of settings, then rounds warm and cold."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.contest import alternate
from bench.scan import files
from bench.scan.cases import (
    CDF5,
    HISTOGRAM,
    NETCDF4,
    SUBSET,
    SUMMARY,
    TASKS,
    Case,
    DataFile,
    DisagreementError,
    check,
)
from bench.scan.contestants import LIMIT, OURS, PNETCDF, READ, TRADITIONAL, Contestant, Setting
from bench.scan.once import RunError, run
from bench.scan.report import Figures

_TRIAL_PART, _SLOW_TRIAL_PART = 8, 16
_COLD_TASKS = (SUMMARY, SUBSET)
_COLD_SLOW = ("xarray + dask", "CDO")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Pace:
    """How many rounds, how often in each, and how long all warm rounds may take.

    Then Fluvial and the limit alone go on for `close_s`, because their ratio is close.

    Slow contestants do `slow_tasks` on the CDF-5 file; on the others, unless `quick`, the whole and
    the subset.
    """

    rounds: int
    repeats: int
    budget_s: float
    limit_s: float
    trials: bool
    close_s: float = 0.0
    slow_tasks: tuple[str, ...] = tuple(TASKS)
    quick: bool = False


@dataclass
class Contest:
    """All turns of one run of the bench."""

    everybody: Sequence[Contestant]
    contestants: Sequence[Contestant]
    files: dict[str, DataFile]
    figures: Figures
    pace: Pace
    say: Say
    _chosen: dict[tuple[str, str, bool], Setting] = field(default_factory=dict)
    _expected: dict[Case, dict[str, Any]] = field(default_factory=dict)
    _begin: float = field(default_factory=time.monotonic)

    def warm_rounds(self) -> None:
        """Hold rounds with the files in the system's cache; slow contestants in the first one."""
        for file in self.files.values():
            self.say(f"reading the {file.format} file into the cache")
            files.warm(file.path)
        cases = [Case(task, file) for file in self.files.values() for task in TASKS]
        everybody = [contestant for contestant in self.contestants if contestant.name != READ]
        fast = [contestant for contestant in everybody if not contestant.slow]
        self._warm_turns(cases, everybody, 1, first=0, budget_s=None)
        left_s = self.pace.budget_s - (time.monotonic() - self._begin)
        self._warm_turns(cases, fast, self.pace.rounds - 1, first=1, budget_s=left_s)
        if self.pace.close_s > 0:
            close = [contestant for contestant in fast if contestant.name in (LIMIT, *OURS)]
            first, budget_s = self.pace.rounds, self.pace.close_s
            self._warm_turns(cases, close, self.pace.rounds, first=first, budget_s=budget_s)

    def _warm_turns(
        self,
        cases: Sequence[Case],
        contestants: Sequence[Contestant],
        rounds: int,
        first: int,
        budget_s: float | None,
    ) -> None:
        names = [contestant.name for contestant in contestants]
        for turn, case, name in alternate(cases, names, rounds, budget_s=budget_s):
            contestant = self._named(name)
            if contestant.can(case) and self._has_turn(contestant, case):
                number = first + turn
                self.say(f"round {number + 1}: {case.task}, {case.file.format}: {name}")
                self._turn(contestant, case, number, cold=False)

    def cold_rounds(self, rounds: int) -> None:
        """Hold rounds in which the file is dropped from the system's cache before each turn."""
        names = [READ, LIMIT, *OURS, PNETCDF, *_COLD_SLOW]
        contestants = [c for c in self.contestants if c.name in names]
        cases = [Case(task, file) for file in self.files.values() for task in _COLD_TASKS]
        for number, case, name in alternate(cases, [c.name for c in contestants], rounds):
            contestant = self._named(name)
            has_turn = number == 0 and case.task == SUMMARY and case.file.format == CDF5
            if contestant.can(case) and (has_turn or not contestant.slow):
                self.say(f"cold round {number + 1}: {case.task}, {case.file.format}: {name}")
                files.forget(case.file.path)
                self._turn(contestant, case, number, cold=True)

    def _has_turn(self, contestant: Contestant, case: Case) -> bool:
        if not contestant.slow:
            return True
        if case.file.format == CDF5:
            return case.task in self.pace.slow_tasks
        return not self.pace.quick and case.task in (SUMMARY, SUBSET)

    def _turn(self, contestant: Contestant, case: Case, number: int, *, cold: bool) -> None:
        if not self.figures.wanted(contestant.name, case):
            return
        given = replace(case, part=contestant.part)
        try:
            setting = self._setting(contestant, case)
            once = cold or contestant.slow or contestant.name in TRADITIONAL
            repeats = 1 if once else self.pace.repeats
            found = self._run(setting, given, repeats)
            if contestant.name != READ:
                check(given, contestant.name, found, self._answer(given))
        except (RunError, DisagreementError) as error:
            self.figures.failed(contestant.name, case, str(error))
            return
        seconds = statistics.median(found["seconds"]) / given.share
        self.figures.add(contestant.name, case, number, seconds, found, setting.label, cold=cold)

    def _setting(self, contestant: Contestant, case: Case) -> Setting:
        """Return the setting that is fastest on a part of the whole, or of the subset.

        Trials are on CDF-5 for both uncompressed formats.
        """
        if len(contestant.settings) == 1 or not self.pace.trials:
            return contestant.settings[0]
        task = case.task if case.task in (SUBSET, HISTOGRAM) else SUMMARY
        if contestant.slow or (task == HISTOGRAM and contestant.name != LIMIT):
            task = SUMMARY
        compressed = case.file.format == NETCDF4
        key = contestant.name, task, compressed
        if key not in self._chosen:
            file = case.file if compressed or CDF5 not in self.files else self.files[CDF5]
            part = _SLOW_TRIAL_PART if contestant.slow else _TRIAL_PART
            trial = Case(task, file, part)
            self._chosen[key] = self._best_setting(contestant, trial)
        return self._chosen[key]

    def _best_setting(self, contestant: Contestant, trial: Case) -> Setting:
        best, least_s = contestant.settings[0], float("inf")
        for setting in contestant.settings:
            self.say(f"trial: {contestant.name}, {setting.label}")
            try:
                found = self._run(setting, trial, 1 if contestant.slow else 2)
            except RunError as error:
                self.figures.notes.append(f"{contestant.name}, {setting.label}: {error}")
                continue
            if min(found["seconds"]) < least_s:
                best, least_s = setting, min(found["seconds"])
        return best

    def _answer(self, case: Case) -> dict[str, Any]:
        """Return what the bare loops of the limit give for this case, computed once."""
        if case not in self._expected:
            self._expected[case] = self._run(self._named(LIMIT).settings[0], case, 1)
        return self._expected[case]

    def _run(self, setting: Setting, case: Case, repeats: int) -> dict[str, Any]:
        command = [*setting.command, *case.words(), *setting.words, f"repeats={repeats}"]
        return run(command, self.pace.limit_s, setting.environment)

    def _named(self, name: str) -> Contestant:
        return next(c for c in self.everybody if c.name == name)
