# SPDX-License-Identifier: Apache-2.0
"""The program of the process that opens files before others do (`isolation.py`).

It gets the path of Fluvial's extension module as its argument and those of the files, separated by
NUL, on its standard input. It imports nothing else of the package, which saves most of a second.
"""

import importlib.util
import resource
import signal
import sys
import types

CPU_S_MAX = 60.0  # of a file; libhdf5 may walk in circles


def load_core(path: str) -> types.ModuleType:
    """Return the extension module that lies at `path`."""
    spec = importlib.util.spec_from_file_location("fluvial._core", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no extension module: {path}")
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    return core


def walk(core: types.ModuleType, path: str) -> None:
    """Read everything that a file says of itself, and an element at either end of each dataset."""
    file = core.open_file(path)
    for name in set(file.names) - set(file.unreadable):
        try:
            dataset = file.dataset(name)
            described = (dataset.attributes, dataset.dimensions, dataset.layout)
            if described and all(dataset.shape):
                one = (1,) * len(dataset.shape)
                dataset.read((0,) * len(one), one)
                dataset.read(tuple(length - 1 for length in dataset.shape), one)
        except (core.Error, MemoryError):
            continue  # a user of it is told


def main() -> None:
    """Open the files one after the other; those that are refused will be again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    core = load_core(sys.argv[1])
    for path in sys.stdin.read().split("\0"):
        signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
        try:
            walk(core, path)
        except (core.Error, MemoryError):
            continue


if __name__ == "__main__":
    main()
