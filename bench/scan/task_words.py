# SPDX-License-Identifier: Apache-2.0
"""The task as a contestant in Python reads it from its command line, and how it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIMENSIONS = ("time", "level", "lat", "lon")


@dataclass(frozen=True)
class Words:
    """The NAME=VALUE words of `cases.Case.words` and of the contestant's setting."""

    words: dict[str, str]

    @classmethod
    def of(cls, arguments: list[str]) -> Words:
        """Split the command line's words."""
        return cls(dict(word.split("=", 1) for word in arguments))

    def __getitem__(self, name: str) -> str:
        return self.words[name]

    def number(self, name: str, otherwise: int) -> int:
        """Return a word as an integer."""
        return int(self.words.get(name, otherwise))

    def extents(self, name: str) -> tuple[int, ...]:
        """Return a word as a list of integers."""
        return tuple(int(word) for word in self.words[name].split(","))

    def small(self) -> Words | None:
        """Return the same task on all of a small file, if there is one.

        It is done once before the clock runs, so that what a library does at its first call counts
        as start-up.
        """
        if "small" not in self.words:
            return None
        shape = self.words["small_shape"]
        changes = {"file": self.words["small"], "shape": shape, "count": shape}
        return Words({**self.words, **changes, "start": "0,0,0,0"})

    @property
    def is_whole(self) -> bool:
        """Whether the selection is the whole variable."""
        return self.extents("count") == self.extents("shape")

    @property
    def slices(self) -> dict[str, slice]:
        """The selection by dimension."""
        ends = zip(self.extents("start"), self.extents("count"), strict=True)
        return {name: slice(a, a + n) for name, (a, n) in zip(DIMENSIONS, ends, strict=True)}

    @property
    def step_elements(self) -> int:
        """Selected elements of one time step."""
        _, levels, lats, lons = self.extents("count")
        return levels * lats * lons


def memory_peak() -> int:
    """Return VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def answer(seconds: list[float], memory: list[int], result: dict[str, Any], **more: Any) -> None:
    """Print the one line that the bench reads."""
    print(json.dumps({"seconds": seconds, "memory": memory, **result, **more}), flush=True)
