# SPDX-License-Identifier: Apache-2.0
"""How many tasks that do nothing are run in a second, beside bare MPI and other tools.

Tasks on one rank beside a master and a worker in C, tasks on two beside the loop that makes and
frees a communicator for each (Figure 4 of "Dataflow Coordination of Data-Parallel Tasks via MPI
3.0"), from Python beside mpi4py.futures, executorlib, Dask and Parsl. The time and memory of tasks
in a long queue. Utilisation by tasks that sleep for a second, of fixed and of varying width
(Figures 5 and 6), with several ranks a core; the same in simulated time, with Figure 9's.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.contest import alternate
from bench.flow import cases
from bench.options import BUILD, Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Record, Sample, append_lines, compare
from bench.scan import compiled
from bench.scan.once import RunError, run
from bench.table import machine_line, number, spread, wide_console

_HERE = Path(__file__).parent
_PROGRAM = _HERE / "programs" / "tasks.cpp"
_LIMIT_S = 150.0
_MPIS = (compiled.MPICH, compiled.OPEN_MPI)
_YIELDING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
_TOOLS = {"executorlib": "executorlib", "dask": "distributed", "parsl": "parsl"}
_ALONE = "nothing beside it"


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run everything, show the figures and append their records."""
    console = wide_console()
    ours = peers.present_here("fluvial", {"PYTHONPATH": fluvial_path()})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("flow", {"fluvial": ours.version})
    bench = _Bench(console, rounds=runs or (2 if quick else 3), quick=quick)
    records: list[Record] = []
    for mpi in _MPIS[:1] if quick else _MPIS:
        program = compiled.with_fluvial(f"flow_{mpi}", _PROGRAM, mpi)
        if program.path is None:
            console.print(f"{mpi} is missing: {program.missing}", style="red", markup=False)
            continue
        records += bench.rates(mpi, program)
        records += bench.queue(mpi, program)
        records += bench.sleeping(mpi, program)
    records += bench.scheduling()
    records += bench.python()
    console.print(machine_line(started), markup=False)
    output = Output.of("flow", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


class _Bench:
    """What is run, and where that is shown."""

    def __init__(self, console: Console, rounds: int, quick: bool) -> None:
        self._console = console
        self._rounds = rounds
        self._quick = quick

    def rates(self, mpi: str, program: compiled.Program) -> list[Record]:
        """Rates in C++."""
        found: dict[str, list[float]] = defaultdict(list)
        for _, one, _ in alternate(cases.IN_C, [""], self._rounds):
            words = [*one.words, f"count={one.count}", "repeats=1"]
            if (answer := self._run(program, one.ranks, words)) is not None:
                found[one.name] += answer["rates"]
        samples = {name: Sample.of(values) for name, values in found.items()}
        table = self._table(f"{mpi}: {cases.RATE.name}, {cases.RATE.unit}", "contestant", "rate")
        for name, sample in samples.items():
            table.add_row(name, spread(sample, cases.RATE))
        self._console.print(table)
        records = []
        for mine, other in cases.BESIDE:
            if mine.name in samples:
                theirs = samples.get(other.name)
                records.append(
                    compare(
                        "flow", mine.name, {"mpi": mpi}, cases.RATE, samples[mine.name],
                        other.name, theirs,
                    )
                )  # fmt: skip
        self._ratios(records)
        return records

    def queue(self, mpi: str, program: compiled.Program) -> list[Record]:
        """Return what a task costs in a queue that grows, and when it is over."""
        count = 100_000 if self._quick else 1_000_000
        answer = self._run(program, 2, ["way=queue", f"count={count}"])
        if answer is None:
            return []
        times = answer["submit_ns"]
        tenth = max(1, len(times) // 10)
        first, last = Sample.of(times[:tenth]), Sample.of(times[-tenth:])
        params = {"mpi": mpi, "tasks": count}
        title = f"{mpi}: a queue of {count:,} tasks"
        table = self._table(title, "", f"{cases.SUBMIT.unit} or {cases.MEMORY.unit}")
        table.add_row("submitting the first tenth, ns", spread(first, cases.SUBMIT))
        table.add_row("submitting the last tenth, ns", spread(last, cases.SUBMIT))
        records = [
            compare("flow", "last tenth", params, cases.SUBMIT, last, "first tenth", first),
        ]
        memory = {state: answer[f"{state}_bytes"] for state in ("waiting", "finished")}
        for state, words in cases.KEPT.items():
            kept = self._run(program, 2, ["way=kept", *words, f"count={count}"])
            if kept is not None:
                memory[state] = kept["kept_bytes"]
        for state, value in memory.items():
            sample = Sample.of([value])
            table.add_row(f"memory of a task that is {state}, B", number(sample.median))
            records.append(compare("flow", state, params, cases.MEMORY, sample, _ALONE, None))
        self._console.print(table)
        return records

    def sleeping(self, mpi: str, program: compiled.Program) -> list[Record]:
        """Utilisation by tasks of about a second, on more ranks than cores."""
        title = f"{mpi}: utilisation by tasks of 1 s"
        columns = ("tasks", "ranks", "% busy", "the most that can be", "lead's messages a task")
        table = self._table(title, *columns)
        records = []
        for one in cases.SLEEPING[:1] if self._quick else cases.SLEEPING:
            values, most, messages = [], [], []
            for seed in range(1 if self._quick else self._rounds):
                words = ["way=sleep", *one.words, f"seed={seed + 1}", f"servers={one.servers}"]
                answer = self._run(program, one.workers + one.servers, words)
                if answer is not None:
                    values.append(100 * answer["utilisation"])
                    most.append(100 * answer["best"])
                    messages.append(answer["messages"] / answer["tasks"])
            if values:
                sample, metric = Sample.of(values), cases.UTILISATION
                bound = spread(Sample.of(most), metric) if min(most) < 100 else ""  # else not known
                told = f"{statistics.fmean(messages):.1f}"
                table.add_row(one.name, str(one.workers), spread(sample, metric), bound, told)
                params = {"mpi": mpi, "workers": one.workers}
                records.append(compare("flow", one.name, params, metric, sample, _ALONE, None))
        self._console.print(table)
        return records

    def scheduling(self) -> list[Record]:
        """Utilisation by simulated tasks, beside what is wanted and what no scheduler passes."""
        title = "utilisation in simulated time, mean of several loads, %"
        table = self._table(title, "tasks", "ranks", "% busy", "the least", "wanted", "bound")
        records = []
        for one in cases.SCHEDULED:
            seeds = 2 if self._quick else one.seeds
            words = [one.load, one.ranks, one.rounds, one.error, seeds]
            command = [sys.executable, str(_HERE / "scheduling.py"), *map(str, words)]
            answer = self._answer(command, {"PYTHONPATH": fluvial_path()})
            if answer is None:
                continue
            mean = statistics.fmean(answer["used"])
            figures = (mean, min(answer["used"]), one.wanted, statistics.fmean(answer["bounds"]))
            table.add_row(one.name, f"{one.ranks:,}", *(f"{figure:.1f}" for figure in figures))
            sample = Sample.of(answer["used"])
            params = {"ranks": one.ranks, "simulated": True}
            records.append(
                compare("flow", one.name, params, cases.UTILISATION, sample, _ALONE, None)
            )
        self._console.print(table)
        return records

    def python(self) -> list[Record]:
        """Rates from Python, under the MPICH wheel where MPI is used."""
        found: dict[str, list[float]] = defaultdict(list)
        commands = {tool: self._command(tool) for tool in cases.PYTHON_TASKS}
        for turn, tool, _ in alternate(list(commands), [""], self._rounds):
            command = commands[tool]
            if isinstance(command, str):
                if turn == 0:
                    self._console.print(f"{tool} is missing: {command}", style="red", markup=False)
                continue
            count = cases.PYTHON_TASKS[tool] // (5 if self._quick else 1)
            words = [*command, tool, str(count), "1"]
            beside = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"  # Parsl's worker
            answer = self._answer(words, {"PYTHONPATH": fluvial_path(), "PATH": beside})
            if answer is not None:
                found[tool] += answer["rates"]
        samples = {tool: Sample.of(values) for tool, values in found.items()}
        title = f"from Python, one worker: {cases.RATE.name}, {cases.RATE.unit}"
        table = self._table(title, "tool", "rate")
        for tool, sample in samples.items():
            table.add_row(tool, spread(sample, cases.RATE))
        self._console.print(table)
        if cases.OURS not in samples:
            return []
        mine = samples[cases.OURS]
        others = [tool for tool in cases.PYTHON_TASKS if tool != cases.OURS]
        records = [
            compare("flow", "Python", {}, cases.RATE, mine, tool, samples.get(tool))
            for tool in others
        ]
        self._ratios(records)
        return records

    def _command(self, tool: str) -> list[str] | str:
        """Return the command that starts a tool's program; or why there is none."""
        script = str(_HERE / "python_tasks.py")
        mpiexec = [str(Path(sys.prefix) / "bin" / "mpiexec"), "-n", "2", sys.executable]
        if tool == cases.OURS:
            return [*mpiexec, script]
        if tool == "mpi4py":
            return [*mpiexec, "-m", "mpi4py.futures", script]
        requirement = _TOOLS[tool]
        found = peers.provide(BUILD / "peers-flow", requirement, requirement)
        return found.missing if found.python is None else [str(found.python), script]

    def _run(
        self, program: compiled.Program, ranks: int, words: list[str]
    ) -> dict[str, object] | None:
        command = [*program.launcher, "-n", str(ranks), str(program.path), *words]
        oversubscribed = _YIELDING if ranks > (os.cpu_count() or 1) else {}
        return self._answer(command, {**compiled.ROOT_MAY_LAUNCH, **oversubscribed})

    def _answer(self, command: list[str], environment: dict[str, str]) -> dict[str, object] | None:
        try:
            return run(command, _LIMIT_S, environment)
        except RunError as error:
            self._console.print(str(error), style="red", markup=False)
            return None

    def _table(self, title: str, *columns: str) -> Table:
        table = Table(title=title)
        for column in columns:
            table.add_column(column, justify="left" if column in columns[:1] else "right")
        return table

    def _ratios(self, records: list[Record]) -> None:
        for record in records:
            shown = "none" if record.ratio is None else f"{record.ratio:.3g}"
            self._console.print(f"{record.case} / {record.peer}: {shown}", markup=False)
