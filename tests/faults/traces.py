# SPDX-License-Identifier: Apache-2.0
"""What a stream leaves behind: shared memory in /proc and /dev/shm, contact files."""

from __future__ import annotations

import os
import pathlib


def stream_name(where: pathlib.Path) -> str:
    """Return a name that no other test, in no other run, uses at this time."""
    return f"{where.parent.name}-{where.name}"[-100:].lstrip(".-")


def shared_memory_of(name: str) -> list[tuple[int, str]]:
    """Return the processes that have shared memory of the stream open or mapped, and how."""
    marks = [f"memfd:fluvial-{part}-{name}" for part in ("control", "arena")]
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            opened = [os.readlink(link) for link in (process / "fd").iterdir()]
            mapped = (process / "maps").read_text().splitlines()
        except OSError:
            continue  # it ended meanwhile
        for what, lines in (("open", opened), ("mapped", mapped)):
            if any(mark in line for mark in marks for line in lines):
                found.append((int(process.name), what))
    return found


def files_in_shm(name: str) -> list[str]:
    """Return what lies in /dev/shm and has to do with the stream, or with Fluvial at all."""
    return [f for f in os.listdir("/dev/shm") if name in f or "fluvial" in f.lower()]
