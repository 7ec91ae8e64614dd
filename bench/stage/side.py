# SPDX-License-Identifier: Apache-2.0
"""One side, writer or reader, of a contestant: opens a fresh stream for each command and runs it.

    python -m bench.stage.side writer|reader MODULE LIBRARY ACK_FD SOCKET_FD

A run has two parts.  In the first, for `ping_s` seconds, the writer sends a step, waits until the
reader has summed it (a byte through the ACK pipe), rests, and sends the next: from the stamp to
the array in hand is the one-way latency.  The first pings warm up and do not count.  In the second
part the writer sends as fast as the queue lets it, for `stream_s` seconds.  Steps that lead in are
not timed, so that all memory has been used before and the queue is as full as it gets, and a tail
of further steps follows: from when the reader has summed the last step of the lead until it has
summed the last timed step is the end-to-end time.
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
_WARM_PINGS = 3
_PINGS_MIN, _PINGS_MAX = 5, 400
_STEPS_MAX = 20_000


def write(module: Any, ack_fd: int, command: dict[str, Any]) -> dict[str, Any]:
    """Write all steps of one run; answers the numbers of pings and of timed steps."""
    count, epoch_ns = command["bytes"] // 8, command["epoch_ns"]
    body = payload.body(count)
    writer = module.Writer(Path(command["folder"]), command["stream"], count, command["settings"])
    pings, ending_s = 0, time.monotonic() + command["ping_s"]
    while pings < _WARM_PINGS + _PINGS_MAX:
        if pings == _WARM_PINGS:
            ending_s = time.monotonic() + command["ping_s"]
        if pings >= _WARM_PINGS + _PINGS_MIN and time.monotonic() >= ending_s:
            break
        writer.write(body, lambda: payload.ping_stamp(epoch_ns))
        if os.read(ack_fd, 1) != b".":
            raise RuntimeError("the reader is gone")
        time.sleep(_REST_S)
        pings += 1
    for _ in range(command["lead"]):
        writer.write(body, lambda: payload.stamp(epoch_ns))
    steps, ending_s = 0, time.monotonic() + command["stream_s"]
    while steps < _STEPS_MAX:
        if steps >= command["steps_min"] and time.monotonic() >= ending_s:
            break
        writer.write(body, lambda: payload.stamp(epoch_ns))
        steps += 1
    for _ in range(command["tail"]):
        writer.write(body, lambda: payload.stamp(epoch_ns))
    writer.close()
    _return_memory()
    return {"pings": pings, "steps": steps}


def read(module: Any, ack_fd: int, native: Native, command: dict[str, Any]) -> dict[str, Any]:
    """Read and sum all steps of one run; answers the latencies and the time of the timed steps."""
    count, epoch_ns = command["bytes"] // 8, command["epoch_ns"]
    lead, tail = command["lead"], command["tail"]
    reader = module.Reader(Path(command["folder"]), command["stream"], count, command["settings"])
    latencies_ns: list[int] = []
    summed_ns: list[int] = []
    previous = 0.0
    for values in reader:
        arrived_ns = time.monotonic_ns()
        stamped = float(values[0])
        if stamped > 0 and not summed_ns:
            time.sleep(command["hold_s"])
        total = native.sum(values)
        done_ns = time.monotonic_ns()
        payload.check(total, stamped, previous, count)
        del values
        previous = abs(stamped)
        if stamped < 0:
            latencies_ns.append(arrived_ns - epoch_ns - int(previous))
            os.write(ack_fd, b".")
        else:
            summed_ns.append(done_ns)
    reader.close()
    steps = len(summed_ns) - lead - tail
    if steps < 1:
        raise RuntimeError(f"the stream ended after {len(summed_ns)} steps, lead and tail included")
    _return_memory()
    return {
        "pings": len(latencies_ns),
        "steps": steps,
        "timed_ns": summed_ns[lead + steps - 1] - summed_ns[lead - 1],
        "latencies_ns": latencies_ns[_WARM_PINGS:],
    }


def _return_memory() -> None:
    """Give freed heap back to the system, so that one run's memory is not the next one's."""
    ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """Answer the benchmark's commands."""
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
