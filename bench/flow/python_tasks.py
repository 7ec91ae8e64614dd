# SPDX-License-Identifier: Apache-2.0
"""Tasks that do nothing, submitted one by one from Python: prints their rates as a line of JSON.

python python_tasks.py TOOL COUNT REPEATS, in an environment that has the tool; one worker.
"""

from __future__ import annotations

import contextlib
import json
import operator
import sys
import time
from collections.abc import Callable, Iterator

Run = Callable[[int], None]
"""Runs that many tasks, and returns when all results are there."""


@contextlib.contextmanager
def fluvial() -> Iterator[Run | None]:
    """Open a pool of two ranks, of which one works."""
    import fluvial as fl

    with fl.Pool() as pool:
        yield _mapped(pool) if pool.leads else None


@contextlib.contextmanager
def mpi4py() -> Iterator[Run | None]:
    """Use two ranks, started as ``python -m mpi4py.futures``."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        pool.bootup()
        yield _mapped(pool)


@contextlib.contextmanager
def executorlib() -> Iterator[Run | None]:
    """Start a worker process that stays."""
    from executorlib import SingleNodeExecutor

    with SingleNodeExecutor(max_workers=1, block_allocation=True) as pool:
        yield _mapped(pool)


@contextlib.contextmanager
def dask() -> Iterator[Run | None]:
    """Start a worker process with one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield lambda count: client.gather(client.map(operator.neg, range(count), pure=False))


@contextlib.contextmanager
def parsl() -> Iterator[Run | None]:
    """Start a worker process of the executor for clusters."""
    import tempfile

    import parsl as parsl_
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor

    with tempfile.TemporaryDirectory() as folder:
        executor = HighThroughputExecutor(
            max_workers_per_node=1, address="127.0.0.1", encrypted=False
        )
        with parsl_.load(Config(executors=[executor], run_dir=folder, strategy="none")):
            negative = parsl_.python_app(operator.neg)

            def run(count: int) -> None:
                futures = [negative(i) for i in range(count)]
                _check([future.result() for future in futures])

            yield run


def _mapped(pool: object) -> Run:
    return lambda count: _check(list(pool.map(operator.neg, range(count))))  # type: ignore[attr-defined]


def _check(results: list[int]) -> None:
    if results != [-i for i in range(len(results))]:
        raise RuntimeError("the results are not those of the tasks")


def main() -> None:
    """Measure."""
    tool, count, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with globals()[tool]() as run:
        if run is None:
            return
        run(count // 10 + 1)
        rates = []
        for _ in range(repeats):
            begin = time.perf_counter()
            run(count)
            rates.append(count / (time.perf_counter() - begin))
        print(json.dumps({"rates": rates}), flush=True)


if __name__ == "__main__":
    main()
