# SPDX-License-Identifier: Apache-2.0
"""A rank of the swift bench: runs a script, or maps a function of the same leaves.

python worker.py SCRIPT N [MAPPED]
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import time

from fluvial.swift.__main__ import set_up_interpreter
from fluvial.swift.running import run_script

import fluvial as fl


def main() -> None:
    """Print {"seconds": …, "growth_mib": …} on the rank that leads."""
    script, iterations, *mapped = sys.argv[1:]
    set_up_interpreter()
    with fl.Pool() as pool:
        if not pool.leads:
            return
        timed = _mapped(pool, script, mapped[0]) if mapped else _scripted(pool, script)
        timed(100)  # imports, libraries, connections
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        timed(int(iterations))
        seconds = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "growth_mib": (after - before) / 1024}), flush=True)


def _scripted(pool, script):
    return lambda n: run_script(script, pool, [f"-n={n}"])


def _mapped(pool, script, what):
    folder = os.path.dirname(script)
    if what.startswith("C++"):
        library = fl.TaskLibrary(os.path.join(folder, "libleaves.so"))
        if what == "C++ nap":
            return lambda n: all(True for _ in pool.map(library.nap, itertools.repeat(1000, n)))
        function = library.nothing
    else:
        sys.path.insert(0, folder)
        from leaf_module import nothing as function
    return lambda n: all(True for _ in pool.map(function, range(n)))


if __name__ == "__main__":
    main()
