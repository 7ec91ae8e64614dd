# SPDX-License-Identifier: Apache-2.0
"""The contestants CDO and NCO: whole processes, timed from their start to their end.

python with_tools.py NAME=VALUE …; words of its own: tool (cdo, cdo-info or
nco) and threads (of CDO).  One command a
statistic, one after another; the mean comes from the sum.  ``cdo infon`` has minimum, mean and
maximum of each field in one pass, to five digits.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.scan.task_words import DIMENSIONS, Words, answer

_SINGLE = 2e-6  # both add up in float32 in part
_FIVE_DIGITS = 5e-5


def cdo(words: Words) -> dict[str, Any]:
    """Return what CDO's operators give."""
    selection = _cdo_selection(words)

    def numbers(*operators: str) -> list[float]:
        chain = [*operators, *selection, words["file"]]
        command = ["cdo", "-s", "-P", words["threads"], "-b", "F64", "outputf,%.17g", *chain]
        return [float(word) for word in _run(command).split()]

    if words["task"] == "steps":
        return {"steps": numbers("-vertsum", "-fldsum"), "tolerance": _SINGLE}
    found = {
        name: numbers(f"-tim{name}", f"-vert{name}", f"-fld{name}")[0]
        for name in ("sum", "min", "max")
    }
    return {**found, "tolerance": _SINGLE}


def cdo_info(words: Words) -> dict[str, Any]:
    """Return minimum, mean and maximum of all fields, as ``cdo infon`` prints them."""
    chain = ["infon", *_cdo_selection(words), words["file"]]
    lines = _run(["cdo", "-s", "-P", words["threads"], *chain]).splitlines()
    fields = [
        [float(number) for number in re.split(r"[:\s]+", line.split(" : ")[2].strip())[:3]]
        for line in lines
        if " : " in line and "Minimum" not in line
    ]
    low, mean, high = zip(*fields, strict=True)
    steps = words.extents("count")[0]
    total = sum(mean) / len(mean) * words.step_elements * steps
    return {"sum": total, "min": min(low), "max": max(high), "tolerance": _FIVE_DIGITS}


def nco(words: Words) -> dict[str, Any]:
    """Return what ``ncwa`` gives; it writes files, which are read with ``ncks``."""
    hyperslabs = []
    for name, part in words.slices.items():
        hyperslabs += ["-d", f"{name},{part.start},{part.stop - 1}"]
    variable = words["variable"]
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.nc"))

        def numbers(operation: str, *options: str) -> list[float]:
            command = ["ncwa", "-O", "-y", operation, "-C", "-v", variable, *options]
            _run([*command, *hyperslabs, words["file"], out])
            dumped = _run(["ncks", "-H", "-C", "-s", "%.9g ", "-v", variable, out])
            return [float(word) for word in dumped.split()]

        if words["task"] == "steps":
            means = numbers("avg", "-a", ",".join(DIMENSIONS[1:]))
            steps = [mean * words.step_elements for mean in means]
            return {"steps": steps, "tolerance": _SINGLE}
        found = {"sum": numbers("ttl")[0], "min": numbers("min")[0], "max": numbers("max")[0]}
        return {**found, "tolerance": _SINGLE}


def _cdo_selection(words: Words) -> list[str]:
    if words.is_whole:
        return []
    time_, level, lat, lon = (words.slices[name] for name in DIMENSIONS)
    found = []
    if (lat, lon) != tuple(slice(0, n) for n in words.extents("shape")[2:]):
        box = (lon.start + 1, lon.stop, lat.start + 1, lat.stop)
        found.append("-selindexbox," + ",".join(map(str, box)))
    if level != slice(0, words.extents("shape")[1]):
        found.append("-sellevidx," + ",".join(map(str, range(level.start + 1, level.stop + 1))))
    return [*found, f"-seltimestep,{time_.start + 1}/{time_.stop}"]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout


def main() -> None:
    """Do the task as often as asked."""
    words = Words.of(sys.argv[1:])
    tools: dict[str, Callable[[Words], dict[str, Any]]]
    tools = {"cdo": cdo, "cdo-info": cdo_info, "nco": nco}
    result: dict[str, Any] = {}
    seconds = []
    for _ in range(words.number("repeats", 1)):
        begin = time.perf_counter()
        result = tools[words["tool"]](words)
        seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    answer(seconds, [peak], result)


if __name__ == "__main__":
    main()
