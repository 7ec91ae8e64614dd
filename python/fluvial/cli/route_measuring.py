# SPDX-License-Identifier: Apache-2.0
"""What `fluvial route measure` does: the topology of the hosts that a job runs on."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from .._core import InvalidArgument
from ..base.arguments import said_by
from ..base.messages import shown
from ..base.whole_file import whole_file
from ..mpi.communicator import Communicator, world
from ..route.measuring import Measured, Progress, measure
from . import tables
from .application import is_first, say
from .printing import Format, print_as

_SAYS_EVERY_S = 5.0


def measure_network(
    out: str, seconds: float, timeout: float, progress: bool, format: Format
) -> None:
    """Measure between the hosts of this job; write the topology on the first rank, print rows."""
    comm = world()
    if comm is None:
        raise InvalidArgument(
            "a network is measured by several ranks: got one; allowed: 2 or more. Start it on the "
            "hosts of the network: mpiexec -n 4 fluvial route measure --out cluster.json"
        )
    _check_writable(comm, out)
    with _progress(progress) as told:
        found = measure(comm, seconds=seconds, timeout=timeout, progress=told)
    failed = None
    if is_first():
        try:
            with whole_file(out) as partial, open(partial, "w") as file:
                file.write(found.to_json())
        except Exception as error:  # whatever it is, the other ranks wait to hear of it
            failed = f"cannot write the topology: got {shown(out)} ({said_by(error)})"
    failed = comm.bcast(failed)
    if failed is not None:
        raise InvalidArgument(f"{failed}; allowed: a path in a folder that may be written to")
    if len(found.hosts) == 1 and is_first():
        say("all ranks run on one host, so there was no network to measure", "yellow")
    print_as(_rows(found), f"{out}: {found.kind} of {len(found.hosts)} hosts", format)


def _check_writable(comm: Communicator, out: str) -> None:
    """Raise on all ranks before anything is measured."""
    target = os.path.realpath(out)
    folder = os.path.dirname(target)
    right = comm.bcast(
        bool(os.path.basename(out))
        and os.path.isdir(folder)
        and os.access(folder, os.W_OK)
        and (os.path.isfile(target) or not os.path.exists(target))
    )
    if not right:
        raise InvalidArgument(
            f"the topology cannot be written: got {shown(out)}; allowed: the path of a new "
            "file, or of a regular one, in a folder that exists and may be written to"
        )


def _rows(found: Measured) -> list[tables.Row]:
    """Return a row for each direction of each pair of hosts, and two for each host with all."""
    rows: list[tables.Row] = []
    hosts = range(len(found.hosts))
    for a in hosts:
        for b in hosts:
            if a != b:
                rate, delay = found.bandwidth[a, b], found.latency[a, b]
                rows.append(_row(found.hosts[a], found.hosts[b], rate, delay))
    for host in hosts if len(found.hosts) > 2 else ():
        rows.append(_row(found.hosts[host], "all others", found.sending[host], None))
        rows.append(_row("all others", found.hosts[host], found.receiving[host], None))
    return rows


def _row(source: str, target: str, rate: float, latency: float | None) -> tables.Row:
    return {
        "from": source,
        "to": target,
        "bandwidth (MB/s)": float(f"{rate * 1e-6:.4g}"),
        "latency (us)": None if latency is None else float(f"{latency * 1e6:.3g}"),
    }


@contextlib.contextmanager
def _progress(wanted: bool) -> Iterator[Progress | None]:
    """Give a bar on a terminal, and a line now and then elsewhere; on the first rank."""
    if not wanted or not is_first():
        yield None
    elif sys.stderr.isatty():
        columns = TextColumn("measuring"), BarColumn(), TextColumn("{task.percentage:3.0f} %")
        console = Console(stderr=True)
        with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        said = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal said
            if time.monotonic() - said > _SAYS_EVERY_S:
                said = time.monotonic()
                say(f"{done} of {total} measurements are done", "dim")

        yield tell
