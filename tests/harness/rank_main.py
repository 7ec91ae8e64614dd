# SPDX-License-Identifier: Apache-2.0
"""One rank of one job of a scenario: imports the test's module, plays the role, keeps a record.

usage: rank_main.py MODULE TEST NAME RANKS RECORDS [again]

With `again` it plays again in each folder of records that NAME.again names, until it is killed.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import importlib.util
import os
import pathlib
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

_GRACE_S = 2.0  # for the other ranks of the job to record the same error


def main() -> int:
    module_file, test, name, ranks, records, *again = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    gc.disable()  # until all is imported, of which nothing is garbage
    comm = None
    rank = int(os.environ.get("FLUVIAL_LAUNCH_RANK", "-1"))
    if rank < 0:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        rank = comm.rank
        assert comm.size == int(ranks), f"{comm.size} ranks were started, not {ranks}"
    directory = pathlib.Path(records)
    while True:
        # The supervisor sends SIGABRT when the time is up. A file of its own, because mpiexec may
        # not live to pass on what a rank prints then.
        stacks = open(directory / f"{name}-{rank}.stacks", "w")  # noqa: SIM115
        faulthandler.enable(file=stacks)
        try:
            value = _play(module_file, test, name, comm, directory)
            _record(directory / f"{name}-{rank}.pickle", {"value": value})
        except BaseException as error:
            text = traceback.format_exc()
            print(f"[{name} rank {rank}] {text}", file=sys.stderr, flush=True)
            types = tuple(kind.__name__ for kind in type(error).__mro__)
            _record(directory / f"{name}-{rank}.pickle", {"error": (types, str(error), text)})
            if comm is not None and not _all_recorded(directory, name, comm.size):
                comm.Abort(1)  # the others wait for this rank
            return 1
        if not again:
            return 0
        directory = _next_folder(directory / f"{name}.again")
        os.environ["FLUVIAL_DIRECTORY"] = str(directory.parent)


def _play(module_file: str, test: str, name: str, comm: Any, records: pathlib.Path) -> Any:
    import fluvial

    role = _role(module_file, test, name)
    arguments = pickle.loads((records / f"{name}.arguments").read_bytes())
    return role(comm, fluvial, records.parent, **arguments)


@functools.cache
def _role(module_file: str, test: str, name: str) -> Callable[..., Any]:
    from harness import pytest_on_ranks

    pytest_on_ranks.stand_in()
    path = pathlib.Path(module_file)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    role = getattr(module, test).roles[name]
    pytest_on_ranks.import_for(role)
    gc.freeze()
    gc.enable()
    return role


def _next_folder(invitation: pathlib.Path) -> pathlib.Path:
    while not invitation.exists():
        time.sleep(0.002)
    return pathlib.Path(invitation.read_text())


def _record(path: pathlib.Path, record: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(record))
    partial.rename(path)


def _all_recorded(directory: pathlib.Path, name: str, ranks: int) -> bool:
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline:
        if all((directory / f"{name}-{rank}.pickle").exists() for rank in range(ranks)):
            return True
        time.sleep(0.02)
    return False


if __name__ == "__main__":
    sys.exit(main())
