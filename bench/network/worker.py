# SPDX-License-Identifier: Apache-2.0
"""A process of the network bench: it sends, or receives and sums, by a stream or a bare socket.

python -m bench.network.worker SOCKET_FD
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fluvial
from bench.child import serve
from bench.network.contestants import BARE, ENCRYPTED, FLUVIAL

_ADDRESS = "127.0.0.1"
_PATIENCE_S = 20.0


def send_bare(folder: Path, bytes_: int, steps: int) -> float:
    """Fill an array and send it, `steps` times."""
    port = _port_in(folder / "port")
    array = np.empty(bytes_ // 8)
    with socket.create_connection((_ADDRESS, port)) as to:
        to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for index in range(steps):
            array[...] = index
            to.sendall(array)
    return 0.0


def receive_bare(folder: Path, bytes_: int, steps: int) -> float:
    """Receive into one array and sum it; return the seconds."""
    array = np.empty(bytes_ // 8)
    room = memoryview(array).cast("B")
    with socket.create_server((_ADDRESS, 0)) as listener:
        draft = folder / "port.draft"
        draft.write_text(str(listener.getsockname()[1]))
        draft.rename(folder / "port")
        connection, _ = listener.accept()
        (folder / "port").unlink()
    with connection:
        begin = time.perf_counter()
        for index in range(steps):
            done = 0
            while done < bytes_:
                done += connection.recv_into(room[done:])
            _check(float(array.sum()), array.size, index)
        return time.perf_counter() - begin


def send_steps(folder: Path, bytes_: int, steps: int, encrypt: bool = False) -> float:
    """Fill a span of each step."""
    with fluvial.open("network", "w", directory=folder, network="lo", encrypt=encrypt) as series:
        for index in range(steps):
            with series.step() as step:
                step.span("x", "float64", (bytes_ // 8,))[...] = index
    return 0.0


def receive_steps(folder: Path, bytes_: int, steps: int) -> float:
    """Read each step and sum it; return the seconds."""
    with fluvial.open("network", directory=folder, transport="tcp") as series:
        begin = time.perf_counter()
        for step in series:
            _check(float(step["x"].read().sum()), bytes_ // 8, step.index)
        took = time.perf_counter() - begin
        if series.stats["steps_read"] != steps:
            raise RuntimeError(f"{series.stats['steps_read']} of {steps} steps came")
        return took


def _port_in(file: Path) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise RuntimeError("nobody listens")
        time.sleep(0.001)
    return int(file.read_text())


def _check(total: float, elements: int, index: int) -> None:
    if total != float(elements) * index:
        raise RuntimeError(f"step {index} came as something else")


def main() -> None:
    """Answer the benchmark's commands."""
    parts: dict[tuple[str, str], Callable[[Path, int, int], float]] = {
        (BARE, "send"): send_bare,
        (BARE, "receive"): receive_bare,
        (FLUVIAL, "send"): send_steps,
        (FLUVIAL, "receive"): receive_steps,
        (ENCRYPTED, "send"): partial(send_steps, encrypt=True),
        (ENCRYPTED, "receive"): receive_steps,
    }

    def answer(command: dict[str, Any]) -> dict[str, Any]:
        part = parts[command["who"], command["part"]]
        return {"seconds": part(Path(command["folder"]), command["bytes"], command["steps"])}

    os.environ.pop("FLUVIAL_DIRECTORY", None)
    serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    main()
