# SPDX-License-Identifier: Apache-2.0
"""The contestants, their settings, and the command that starts each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import peers
from bench.options import BUILD, fluvial_path
from bench.scan import compiled
from bench.scan.cases import CDF5, FORMATS, HDF5, HISTOGRAM, NETCDF4, STEPS, SUBSET, SUMMARY, Case

PYTHON, ENGINE = "Fluvial, Python", "Fluvial, C++"
LIMIT, READ = "limit", "read loop"
PNETCDF, COLLECTIVE, INDEPENDENT = "PnetCDF", "MPI-IO collective", "MPI-IO independent"
XARRAY, CDO, NCO, CDO_INFO = "xarray + dask", "CDO", "NCO", "CDO infon"
TRADITIONAL = (PNETCDF, COLLECTIVE, INDEPENDENT)
TOOLS = (XARRAY, CDO, NCO)
OURS = (PYTHON, ENGINE)

_HERE = Path(__file__).parent
_ALL = (SUMMARY, SUBSET, STEPS, HISTOGRAM)
_MIB = 2**20
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Setting:
    """One way to run a contestant."""

    label: str
    command: tuple[str, ...]
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """A name, the settings among which a trial chooses, and the cases that it can do.

    `slow` ones run in the first round only.  `part` is for those that are given a part of the time
    steps, whose time is then scaled up.
    """

    name: str
    settings: tuple[Setting, ...]
    formats: tuple[str, ...] = FORMATS
    tasks: tuple[str, ...] = _ALL
    slow: bool = False
    part: int = 1

    def can(self, case: Case) -> bool:
        """Whether it can do this case at all."""
        return case.file.format in self.formats and case.task in self.tasks


@dataclass
class Field:
    """All contestants that are here, with their versions, and why others are not."""

    contestants: list[Contestant] = field(default_factory=list)
    software: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def missing(self, names: Sequence[str], why: str) -> None:
        """Note a contestant that is missing, and why."""
        self.notes.append(f"{', '.join(names)}: missing; {why}")


def gather_field(ranks: int, cores: Sequence[int]) -> Field:
    """Return all contestants that can run here, compiled and installed where they need it."""
    found = Field()
    pinned = f"cores={','.join(map(str, cores))}"
    _add_limit(found, ranks, pinned)
    _add_fluvial(found, ranks, pinned)
    _add_traditional(found, ranks, pinned)
    _add_xarray(found)
    _add_tools(found)
    return found


def _add_limit(found: Field, ranks: int, pinned: str) -> None:
    program = compiled.limit()
    if program.path is None:
        found.missing([LIMIT, READ], program.missing)
        return
    command = (str(program.path),)
    words = (pinned, f"ranks={ranks}")
    blocks = [2**20, 2**18, 2**19, 2**21, 2**22]
    settings = [
        Setting(f"blocks of {block // 1024} KiB", command, (*words, f"block={block}"))
        for block in blocks
    ]
    found.contestants.append(Contestant(LIMIT, tuple(settings)))
    reading = Setting("blocks of 4 MiB", command, (*words, f"block={2**22}", "reads_only=1"))
    found.contestants.append(Contestant(READ, (reading,), tasks=(SUMMARY, SUBSET)))


def _add_fluvial(found: Field, ranks: int, pinned: str) -> None:
    launcher = (str(Path(sys.prefix) / "bin" / "mpiexec"), "-n", str(ranks))
    path = {"PYTHONPATH": fluvial_path()}
    here = peers.present_here("fluvial", path)
    if here.python is None:
        found.missing([PYTHON], f"{here.missing}; ./run build first")
    else:
        found.software["fluvial"] = here.version
        command = (*launcher, str(here.python), str(_HERE / "with_fluvial.py"))
        setting = Setting("as it comes", command, (pinned,), {**path, **_ONE_THREAD})
        found.contestants.append(Contestant(PYTHON, (setting,)))
    program = compiled.engine()
    if program.path is None:
        found.missing([ENGINE], program.missing)
        return
    setting = Setting("as it comes", (*launcher, str(program.path)), (pinned,))
    found.contestants.append(Contestant(ENGINE, (setting,)))


def _add_traditional(found: Field, ranks: int, pinned: str) -> None:
    mpich, openmpi = compiled.with_mpich(), compiled.with_open_mpi()
    ways: dict[str, list[Setting]] = {name: [] for name in TRADITIONAL}
    no_cb = "hint.romio_cb_read=disable"
    large = f"hint.cb_buffer_size={64 * _MIB}"

    def add(
        who: str, program: compiled.Program, label: str, more: Sequence[str], *words: str
    ) -> None:
        if program.path is not None:
            command = (*program.launcher, *more, "-n", str(ranks), str(program.path))
            setting = Setting(label, command, (pinned, *words), compiled.ROOT_MAY_LAUNCH)
            ways[who].append(setting)

    for steps, amount in ((1, "a step at a time"), (0, "all at once")):
        size = f"steps={steps}"
        for hint, hinted in ((no_cb, ", no aggregation"), ("", ""), (large, ", 64 MiB buffer")):
            words = [word for word in (size, hint) if word]
            romio = ["--mca", "io", "romio321"]
            label = f"{amount}{hinted}"
            add(PNETCDF, openmpi, f"ROMIO, {label}", romio, "way=pnetcdf", *words)
            add(COLLECTIVE, mpich, f"MPICH, {label}", [], "way=collective", *words)
        add(PNETCDF, openmpi, f"OMPIO, {amount}", [], "way=pnetcdf", size)
        add(COLLECTIVE, openmpi, f"Open MPI, {amount}", [], "way=collective", size)
        for way, how in (("independent", "runs"), ("view", "a view")):
            add(INDEPENDENT, mpich, f"MPICH, {how}, {amount}", [], f"way={way}", size)
        add(INDEPENDENT, openmpi, f"Open MPI, runs, {amount}", [], "way=independent", size)
    plain = (CDF5, HDF5)
    for name, settings in ways.items():
        if settings:
            formats = (CDF5,) if name == PNETCDF else plain
            found.contestants.append(Contestant(name, tuple(settings), formats))
    if openmpi.path is None:
        found.missing([PNETCDF], openmpi.missing)
    if mpich.path is None:
        found.missing([COLLECTIVE, INDEPENDENT], mpich.missing)


def _add_xarray(found: Field) -> None:
    wanted = ("xarray>=2024.1", "dask>=2024.1", "netCDF4>=1.6.5", "numpy", "scipy")
    environment = peers.provide(BUILD / "peers-xarray", "xarray", *wanted)
    if environment.python is None:
        found.missing([XARRAY], environment.missing)
        return
    found.software["xarray"] = environment.version
    command = (str(environment.python), str(_HERE / "with_xarray.py"))
    settings = [
        Setting(
            f"{scheduler}, {steps} steps a chunk",
            command,
            (f"scheduler={scheduler}", f"chunk_steps={steps}", "engine=netcdf4"),
            _ONE_THREAD,
        )
        for scheduler in ("processes", "threads")
        for steps in (1, 4)
    ]
    found.contestants.append(Contestant(XARRAY, tuple(settings), slow=True))


def _add_tools(found: Field) -> None:
    command = (sys.executable, str(_HERE / "with_tools.py"))
    sums = (SUMMARY, SUBSET, STEPS)
    if shutil.which("cdo") is None:
        found.missing([CDO, CDO_INFO], "not installed: sudo apt-get install cdo")
    else:
        found.software["cdo"] = _first_line(["cdo", "--version"]).split("version", 1)[-1].split()[0]
        for name, tool, tasks in ((CDO, "cdo", sums), (CDO_INFO, "cdo-info", (SUMMARY, SUBSET))):
            settings = tuple(
                Setting(f"-P {threads}", command, (f"tool={tool}", f"threads={threads}"))
                for threads in (1, 2)
            )
            found.contestants.append(Contestant(name, settings, tasks=tasks, slow=True))
        found.notes.append(f"{CDO} and {NCO} have no histogram of a 4-D variable")
    if shutil.which("ncwa") is None or shutil.which("ncks") is None:
        found.missing([NCO], "not installed: sudo apt-get install nco")
    else:
        found.software["nco"] = _first_line(["ncks", "--version"]).split("version")[-1].split()[0]
        setting = Setting("ncwa", command, ("tool=nco",))
        formats = (CDF5, NETCDF4)
        found.contestants.append(Contestant(NCO, (setting,), formats, sums, slow=True, part=16))
        found.notes.append(
            f"{NCO} takes ten times the variable's bytes of memory: it is given a part of the time "
            "steps, and its time is scaled up"
        )


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    found = [line for line in lines if "version" in line.lower()]
    return found[0] if found else "version unknown"
