# SPDX-License-Identifier: Apache-2.0
"""One side, writer or reader, of a contestant: opens a fresh stream for each command and runs it.

    python -m bench.stage.side writer|reader MODULE LIBRARY ACK_FD SOCKET_FD

A run has two parts.  In the first, the writer sends a step, waits until the reader has summed it
(a byte through the ACK pipe), rests, and sends the next: the time from stamp to array in hand is
the one-way latency.  In the second it sends as fast as the queue allows: from the moment before
the first of these steps until the reader has summed the last is the end-to-end time.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.child import serve
from bench.native import Native
from bench.stage import payload

_REST_S = 100e-6


def write(module: Any, ack_fd: int, command: dict[str, Any]) -> dict[str, Any]:
    """Write all steps of one run; answers when the timed part began and how long the pings took."""
    count, epoch_ns = command["bytes"] // 8, command["epoch_ns"]
    body = payload.body(count)
    writer = module.Writer(Path(command["folder"]), command["stream"], count, command["settings"])
    turns_ns = []
    for _ in range(command["pings"]):
        begin_ns = time.monotonic_ns()
        writer.write(body, epoch_ns)
        if os.read(ack_fd, 1) != b".":
            raise RuntimeError("the reader is gone")
        turns_ns.append(time.monotonic_ns() - begin_ns)
        time.sleep(_REST_S)
    begin_ns = time.monotonic_ns()
    for _ in range(command["steps"]):
        writer.write(body, epoch_ns)
    written_ns = time.monotonic_ns()
    writer.close()
    _return_memory()
    return {"begin_ns": begin_ns, "written_ns": written_ns, "turns_ns": turns_ns}


def read(module: Any, ack_fd: int, native: Native, command: dict[str, Any]) -> dict[str, Any]:
    """Read and sum all steps of one run; answers the latencies and when the last was summed."""
    count, epoch_ns, pings = command["bytes"] // 8, command["epoch_ns"], command["pings"]
    reader = module.Reader(Path(command["folder"]), command["stream"], count, command["settings"])
    latencies_ns = []
    previous, end_ns, seen = -1.0, 0, 0
    for values in reader:
        arrived_ns = time.monotonic_ns()
        stamped = float(values[0])
        total = native.sum(values)
        end_ns = time.monotonic_ns()
        payload.check(total, stamped, previous, count)
        previous = stamped
        del values
        if seen < pings:
            latencies_ns.append(arrived_ns - epoch_ns - int(stamped))
            os.write(ack_fd, b".")
            if seen == pings - 1:
                time.sleep(command["hold_s"])
        seen += 1
    reader.close()
    if seen != pings + command["steps"]:
        raise RuntimeError(f"{seen} steps arrived of {pings + command['steps']} written")
    _return_memory()
    return {"end_ns": end_ns, "latencies_ns": latencies_ns}


def _return_memory() -> None:
    """Give freed heap back to the system, so that one run's memory is not the next one's."""
    ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    role, module_name, library, ack_fd, socket_fd = sys.argv[1:6]
    native = Native(Path(library))
    module = importlib.import_module(module_name)
    ack = int(ack_fd)

    def handle(command: dict[str, Any]) -> dict[str, Any]:
        if command.get("hello"):
            return {"ready": True}
        if role == "writer":
            return write(module, ack, command)
        return read(module, ack, native, command)

    serve(int(socket_fd), handle)


if __name__ == "__main__":
    main()
