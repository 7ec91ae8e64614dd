# SPDX-License-Identifier: Apache-2.0
"""The paper's fourth experiment on simulated machines: Fluvial and the contest over SimGrid's SMPI.

All ranks are threads of control in one process, their messages take the time that the simulated
network needs.  What ranks compute takes no time but for what is stated: the kernel's rate, and what
a message costs its sender and receiver.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.options import BUILD, ROOT
from bench.scan.compiled import Program
from bench.scan.once import run_lines
from bench.stream.cases import SEED, SIMULATED, Case
from bench.stream.figures import Figures
from bench.stream.machines import RANKS_A_NODE, Machine

WAY = "put-batch/messages"
MPI = "SMPI"
Say = Callable[[str], None]
_FOLDERS = ("base", "describe", "mpi", "host", "progress", "move", "stream")
_LEFT_OUT = ("reduction_operation.cpp",)  # the operators of compute/, which the bench does not use
_FLAGS = ("-std=c++20", "-O2", f"-DSIMULATED={RANKS_A_NODE}", "-DOMPI_SKIP_MPICXX", "-w")
_COMPILE_TIMEOUT_S = 300
_KERNEL_GBPS = 10.0
_BUFFER_BYTES = 2**18
_OPTIONS = (
    # One copy of the program for all ranks: a copy for each would take 2 MiB and a long time.
    "-no-privatize",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/cpu-threshold:0",
    "--cfg=smpi/bw-factor:0:1",
    "--cfg=smpi/lat-factor:0:1",
    "--cfg=smpi/os:0:5e-7:0",
    "--cfg=smpi/ois:0:5e-7:0",
    "--cfg=smpi/or:0:5e-7:0",
    # Of shorter messages the simulator keeps a single list, and looks through it for each.
    "--cfg=smpi/send-is-detached-thresh:4096",
    "--cfg=network/crosstraffic:no",
    # Looks take their time in the program: SMPI's own grow from rank to rank.
    "--cfg=smpi/test:0",
    "--cfg=smpi/iprobe:0",
    "--cfg=smpi/wtime:0",
    "--cfg=smpi/bcast:binomial_tree",  # of a communicator's number
    "--cfg=smpi/host-speed:10Gf",
    "--cfg=contexts/stack-size:256",
    "--log=root.thresh:critical",
)


@dataclass(frozen=True)
class Plan:
    """How many pairs, elements of each producer, and up to how many pairs the paper's scheme."""

    pairs: tuple[int, ...] = (32, 64, 128, 256, 512, 1024, 2048)
    elements: int = 200
    seed_pairs_max: int = 2048
    limit_s: float = 1800.0


QUICK = Plan(pairs=(32, 64), elements=50, seed_pairs_max=32, limit_s=120.0)


def program(source: Path) -> Program:
    """Return the contest linked with the library under SMPI, compiled once for its sources."""
    compiler, launcher = shutil.which("smpicxx"), shutil.which("smpirun")
    if compiler is None or launcher is None:
        return Program(None, missing="not installed: sudo apt-get install libsimgrid-dev")
    library = ROOT / "src" / "fluvial"
    sources = [
        path
        for folder in _FOLDERS
        for path in sorted((library / folder).glob("*.cpp"))
        if not path.name.endswith("_test.cpp") and path.name not in _LEFT_OUT
    ]
    before = source.with_name("simulated.hpp")
    key = hashlib.sha256(" ".join(_FLAGS).encode())
    headers = [*sorted(library.rglob("*.hpp")), *sorted(source.parent.glob("*.hpp"))]
    for path in [source, *sources, *headers]:
        key.update(path.read_bytes())
    folder = BUILD / "bench" / "programs" / f"simulated_{key.hexdigest()[:12]}"
    target = folder / source.stem
    if target.exists():
        return Program(target, (launcher,))
    try:
        _compile(compiler, before, [source, *sources], folder, target)
    except RuntimeError as error:
        return Program(None, missing=str(error))
    return Program(target, (launcher,))


def run(contest: Program, machine: Machine, plan: Plan, figures: Figures, say: Say) -> None:
    """Add a case for each number of pairs."""
    files = BUILD / "bench" / "simgrid"
    for pairs in plan.pairs:
        who = [WAY, *([SEED] if pairs <= plan.seed_pairs_max else [])]
        say(f"simulated {machine.name}: {pairs}+{pairs}")
        case = Case(SIMULATED, MPI, producers=pairs, consumers=pairs, machine=machine.name)
        command = _command(contest, machine, files, case, who, plan)
        figures.add(case, run_lines(command, plan.limit_s))


def _command(
    contest: Program,
    machine: Machine,
    files: Path,
    case: Case,
    who: Sequence[str],
    plan: Plan,
) -> list[str]:
    platform, hosts = machine.write(files, case.consumers)
    words = {
        **case.words(),
        "contestants": ",".join(who),
        "repeats": 1,  # nothing is left to chance
        "yields": 1,
        "elements": plan.elements,
        "kernel_gbps": _KERNEL_GBPS,
        "buffer": _BUFFER_BYTES,
    }
    return [
        *contest.launcher,
        *("-np", str(case.ranks), "-platform", str(platform), "-hostfile", str(hosts)),
        *_OPTIONS,
        str(contest.path),
        *(f"{name}={value}" for name, value in words.items()),
    ]


def _compile(
    compiler: str, before: Path, sources: Sequence[Path], folder: Path, target: Path
) -> None:
    """Compile every source, `before` included, then link; RuntimeError with what was said first."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{path.parent.name}_{path.stem}.o" for path in sources]

    def call(words: Sequence[str]) -> None:
        try:
            done = subprocess.run(
                [compiler, *_FLAGS, *words],
                capture_output=True,
                text=True,
                timeout=_COMPILE_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(f"cannot compile under SMPI: {error}") from error
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if "error" in line or "undef" in line]
            raise RuntimeError(f"under SMPI: {(said or [done.stderr.strip()])[0]}")

    include = [f"-I{ROOT / 'src'}", "-include", str(before)]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(call, [*include, "-c", str(path), "-o", str(object_)])
            for path, object_ in zip(sources, objects, strict=True)
        ]
        for job in jobs:
            job.result()
    partial = target.with_suffix(".partial")
    call([*map(str, objects), "-Wl,-Bsymbolic", "-o", str(partial)])
    partial.replace(target)
