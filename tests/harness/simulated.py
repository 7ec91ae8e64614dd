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
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import fluvial as fl

ROOT = pathlib.Path(__file__).resolve().parents[2]
_BUILD = ROOT / ".build" / "sim"
_LOOK_EVERY_S = 0.2


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
    limit_s: float = 1800.0
    """Of this computer's time, after which the simulation is killed."""

    def add_messages(self, flows: Sequence[Flow]) -> int:
        """Add a run by MPI's own messages; return its number."""
        self.runs.append(("messages", list(flows)))
        return len(self.runs) - 1

    def add(self, flows: Sequence[Flow]) -> int:
        """Add a run by the executor; return its number."""
        self.runs.append(("windows", list(flows)))
        return len(self.runs) - 1

    def seconds(self, each: Callable[[int, float], None] | None = None) -> list[float]:
        """Simulate; return what each run took until its last rank was done.

        `each` is called with the number of a run and its seconds as soon as it has ended.
        """
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
            code, found = self._run(where, self._command(where, len(hosts)), each)
            errors = (where / "errors").read_text(errors="replace")
        if code != 0 or len(found) != len(self.runs):
            raise RuntimeError(
                f"the simulation ended with {code}, after {len(found)} of "
                f"{len(self.runs)} runs:\n{errors[-3000:]}"
            )
        return found

    def _run(
        self,
        where: pathlib.Path,
        command: list[str],
        each: Callable[[int, float], None] | None,
    ) -> tuple[int, list[float]]:
        """Return the exit code and the seconds of the runs that ended."""
        found: list[float] = []
        end = time.monotonic() + self.limit_s
        with (
            (where / "said").open("w") as said,
            (where / "errors").open("w") as errors,
            (where / "said").open() as come,
            subprocess.Popen(
                command,
                cwd=where,
                env={**os.environ, "FLUVIAL_SIM_TOPOLOGY": self.topology},
                stdout=said,
                stderr=errors,
                start_new_session=True,
            ) as simulation,
        ):
            try:
                line = ""
                while True:
                    try:
                        code = simulation.wait(_LOOK_EVERY_S)
                    except subprocess.TimeoutExpired:
                        code = None
                    while part := come.readline():
                        line += part
                        if line.endswith("\n"):
                            if line[:1].isdigit():
                                found.append(float(line.split()[1]))
                                if each is not None:
                                    each(len(found) - 1, found[-1])
                            line = ""
                    if code is not None:
                        return code, found
                    if time.monotonic() > end:
                        os.killpg(simulation.pid, signal.SIGKILL)
            except BaseException:
                os.killpg(simulation.pid, signal.SIGKILL)
                raise

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


def planned(plan: fl.route.Plan, costs: str, window_min: int = 0) -> list[Flow]:
    """Return what `fl.route.exchange` does by a plan: paths and windows as the model chooses.

    Windows of `window_min` bytes or more: it takes this computer less time to simulate them.
    """
    flows = []
    for i, (source, target, size) in enumerate(plan.flows):
        found = plan.predict(size, i, costs=costs)
        stops = [path.stops for path in sorted(plan.paths[i], key=lambda path: len(path.stops))]
        if found.direct:
            flows.append(Flow(source, target, int(size)))
        else:
            some = tuple(stops[: found.paths])
            window = max(window_min, int(found.window))
            flows.append(Flow(source, target, int(size), window, some))
    return flows


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
