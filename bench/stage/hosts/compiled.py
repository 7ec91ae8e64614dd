# SPDX-License-Identifier: Apache-2.0
"""Steps between hosts from C++, beside a bare TCP connection; and iperf3, where it is installed.

``programs/hosts.cpp`` is the program: it runs one contestant in one case, a process on each host.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import two_sides
from bench.scan import compiled as programs
from bench.stage.hosts.figures import (
    IPERF,
    LATENCY,
    LATENCY_P99,
    LIBFABRIC,
    QUEUED,
    RATE,
    SOCKET,
    STEP,
    TCP,
    TCP_PUT,
    THROUGHPUT,
    Figures,
)
from bench.stage.hosts.namespaces import Hosts

_SOURCE = Path(__file__).parents[1] / "programs" / "hosts.cpp"
_LIMIT_S = 120
_RATE_BYTES = 8192
_PING_BYTES = (8, 65536)
_WHO = {
    SOCKET: "socket",
    QUEUED: "socket:queue",
    TCP: "tcp",
    TCP_PUT: "tcp",
    LIBFABRIC: "libfabric:tcp;ofi_rxm",
}


class MissingProgramError(RuntimeError):
    """The program cannot be had, and why."""


@dataclass(frozen=True)
class Case:
    """What one call of the program measures."""

    what: str
    bytes: int
    contestants: tuple[str, ...]


def cases(sizes: Sequence[int], datasets: int) -> list[Case]:
    """Return the cases in the order in which they run."""
    streams = sorted({_RATE_BYTES, *sizes})
    found = [
        Case("stream", size, (SOCKET, QUEUED, TCP, TCP_PUT, LIBFABRIC, IPERF)) for size in streams
    ]
    found += [Case("ping", size, (SOCKET, TCP)) for size in _PING_BYTES]
    return [*found, Case("datasets", 8 * datasets, (TCP,))]


class Runner:
    """Runs the cases; a contestant that fails is noted once, and not tried again."""

    def __init__(self, hosts: Hosts, folder: Path, figures: Figures, seconds: float) -> None:
        program = programs.with_fluvial("hosts", _SOURCE)
        if program.path is None:
            raise MissingProgramError(program.missing)
        self._program = program.path
        self._hosts, self._folder = hosts, folder
        self._figures, self._seconds = figures, seconds
        self._failed: set[str] = set()
        if shutil.which("iperf3") is None:
            self._give_up(IPERF, "is missing: apt-get install iperf3")

    def run(self, case: Case, who: str) -> None:
        """Add what one contestant gives in one case."""
        if who in self._failed:
            return
        try:
            if who == IPERF:
                self._iperf(case.bytes)
            else:
                self._contestant(case, who)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self._give_up(who, f"failed ({case.what}, {case.bytes} bytes): {error}")

    def _give_up(self, who: str, why: str) -> None:
        self._failed.add(who)
        self._figures.notes.append(f"{who} {why}")

    def _contestant(self, case: Case, who: str) -> None:
        writer, reader = (str(min(side)) for side in two_sides())
        what = "put" if who == TCP_PUT and case.what == "stream" else case.what
        words = [str(self._program), str(self._folder), writer, reader, *self._hosts.files]
        words += [self._hosts.addresses[0], _WHO[who], what, str(case.bytes), str(self._seconds)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
        for line in map(json.loads, done.stdout.splitlines()):
            self._add(case, who, line["what"], float(line["value"]))

    def _add(self, case: Case, who: str, what: str, value: float) -> None:
        if what == "latency":
            self._figures.add(who, LATENCY, case.bytes, value)
        elif what == "latency p99":
            self._figures.add(who, LATENCY_P99, case.bytes, value)
        elif what == "datasets":
            self._figures.add(who, STEP, case.bytes, 1e6 / value)
        else:
            self._figures.add(who, THROUGHPUT, case.bytes, value * case.bytes / 1e9)
            if case.bytes == _RATE_BYTES:
                self._figures.add(who, RATE, case.bytes, value)

    def _iperf(self, bytes_: int) -> None:
        """Write and read blocks of that size, at most 1 MiB, without looking at them."""
        writer, reader = (str(min(side)) for side in two_sides())
        listen = ["iperf3", "--server", "--one-off", "--affinity", reader, "--idle-timeout", "5"]
        block = str(min(bytes_, 2**20))
        send = ["iperf3", "--client", self._hosts.addresses[1], "--affinity", writer, "--json"]
        send += ["--length", block, "--time", str(max(1, round(self._seconds)))]
        with subprocess.Popen([*self._hosts.on(1), *listen], stdout=subprocess.DEVNULL) as server:
            try:
                done = subprocess.run(
                    [*self._hosts.on(0), "sh", "-c", 'sleep 0.3; exec "$@"', "sh", *send],
                    capture_output=True,
                    text=True,
                    timeout=_LIMIT_S,
                    check=False,
                )
            finally:
                server.terminate()
        found = json.loads(done.stdout or "{}")
        if "error" in found or "end" not in found:
            raise RuntimeError(found.get("error", done.stderr.strip()))
        bits = float(found["end"]["sum_received"]["bits_per_second"])
        self._figures.add(IPERF, THROUGHPUT, bytes_, bits / 8e9)
