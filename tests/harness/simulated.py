# SPDX-License-Identifier: Apache-2.0
"""A simulated machine: the executor of multipath transfers under SimGrid's SMPI, on any topology.

`tests/sim` has the program and the machine, which are built on first use. Time is the machine's, so
figures do not depend on what else this computer does. Ranks run only where a flow begins, passes or
ends; links and routes are those of the whole topology.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
_BUILD = ROOT / ".build" / "sim"
_LIMIT_S = 1800.0


class NoSimulator(Exception):  # noqa: N818
    """SimGrid is not installed here."""


@dataclass(frozen=True)
class Software:
    """Seconds that a send and a receive take of a rank, whatever their length."""

    name: str
    overhead: float


PAMI = Software("PAMI-like", 0.7e-6)
"""A low-level library."""
MPI = Software("MPI-like", 2.0e-6)
"""Point-to-point messages of MPI on such a machine."""


@dataclass(frozen=True)
class Flow:
    """Data from one host to another; without `paths` one message of MPI's."""

    source: int
    target: int
    bytes: int
    window: int = 0
    paths: tuple[tuple[int, ...], ...] = ()
    """Hosts that it is sent to, the first and the last included."""

    def hosts(self) -> set[int]:
        """Return the hosts that take part in it."""
        return {self.source, self.target}.union(*self.paths)

    def lines(self, rank_of: dict[int, int]) -> list[str]:
        """Return what the program reads."""
        ends = f"flow {rank_of[self.source]} {rank_of[self.target]} {self.bytes} {self.window}"
        paths = self.paths or ((self.source, self.target),)
        return [ends, *("path " + " ".join(str(rank_of[stop]) for stop in path) for path in paths)]


@dataclass
class Machine:
    """Runs on one topology, with one kind of software; `seconds` simulates what was added."""

    topology: str
    """The text of one, or what its JSON file contains."""
    software: Software = PAMI
    runs: list[tuple[str, list[Flow]]] = field(default_factory=list)

    def add_messages(self, flows: Sequence[Flow]) -> int:
        """Add a run by MPI's own messages; return its number."""
        self.runs.append(("messages", list(flows)))
        return len(self.runs) - 1

    def add(self, flows: Sequence[Flow]) -> int:
        """Add a run by the executor; return its number."""
        self.runs.append(("windows", list(flows)))
        return len(self.runs) - 1

    def seconds(self) -> list[float]:
        """Simulate; return what each run took until its last rank was done."""
        build()
        hosts = sorted(set().union(*(flow.hosts() for _, flows in self.runs for flow in flows)))
        rank_of = {host: rank for rank, host in enumerate(hosts)}
        lines = []
        for kind, flows in self.runs:
            lines += [f"run {kind}", *(line for flow in flows for line in flow.lines(rank_of))]
        with tempfile.TemporaryDirectory(prefix="fluvial-sim-") as folder:
            where = pathlib.Path(folder)
            (where / "hosts").write_text("".join(f"{host}\n" for host in hosts))
            (where / "runs").write_text("\n".join(lines) + "\n")
            ended = subprocess.run(
                self._command(where, len(hosts)),
                cwd=folder,
                env={**os.environ, "FLUVIAL_SIM_TOPOLOGY": self.topology},
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        said = [line.split() for line in ended.stdout.splitlines() if line[:1].isdigit()]
        if ended.returncode != 0 or len(said) != len(self.runs):
            raise RuntimeError(
                f"the simulation ended with {ended.returncode}, after {len(said)} of "
                f"{len(self.runs)} runs:\n{ended.stderr[-3000:]}"
            )
        return [float(seconds) for _, seconds in said]

    def _command(self, where: pathlib.Path, ranks: int) -> list[str]:
        overhead = f"0:{self.software.overhead}:0"
        settings = {
            # What SMPI takes for Ethernet by default, and Blue Gene/Q does not have.
            "smpi/bw-factor": "0:1",
            "smpi/lat-factor": "0:1",
            "network/crosstraffic": "0",
            "network/weight-S": "0",
            "network/TCP-gamma": "0",
            "smpi/os": overhead,
            "smpi/ois": overhead,
            "smpi/or": overhead,
            "smpi/async-small-thresh": "512",
            "smpi/send-is-detached-thresh": "512",
            "smpi/simulate-computation": "no",
            "smpi/test": "0",
            "smpi/iprobe": "0",
            "smpi/tmpdir": str(where),
        }
        return [
            "smpirun",
            *("-np", str(ranks), "-hostfile", str(where / "hosts")),
            *("-platform", str(_BUILD / "platform.so")),
            *(f"--cfg={name}:{value}" for name, value in settings.items()),
            "--log=root.thres:critical",
            str(_BUILD / "transfers.so"),
            str(where / "runs"),
        ]


def build() -> None:
    """Build the program and the machine, once."""
    if shutil.which("smpirun") is None:
        raise NoSimulator("smpirun is missing; install SimGrid (Debian: libsimgrid-dev)")
    commands = [["ninja", "-C", str(_BUILD)]]
    if not (_BUILD / "build.ninja").exists():
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        configure = ["cmake", "-G", "Ninja", "-S", str(ROOT / "tests" / "sim"), "-B", str(_BUILD)]
        commands.insert(0, configure + launcher)
    for command in commands:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}:\n{(ended.stdout + ended.stderr)[-4000:]}")
