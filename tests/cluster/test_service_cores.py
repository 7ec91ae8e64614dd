# SPDX-License-Identifier: Apache-2.0
"""On which cores the thread runs that serves readers on other hosts.

Each writer has a process of its own: threads of other tests may run anywhere.
"""

import os
import subprocess
import sys

import pytest

CORES = os.sched_getaffinity(0)
several_cores = pytest.mark.skipif(len(CORES) < 2, reason="one core")
BINDING = ("OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")

WRITER = """
import os, pathlib, sys, threading
import fluvial as fl

own, other = int(sys.argv[2]), sys.argv[3]
if own >= 0:  # as a launcher does with ranks
    os.sched_setaffinity(0, {own})
if other:
    bound, stop = threading.Event(), threading.Event()
    def compute():
        os.sched_setaffinity(0, {int(other)})
        bound.set()
        stop.wait()
    threading.Thread(target=compute, daemon=True).start()
    bound.wait()
try:
    with fl.open("cores", "w", directory=sys.argv[1], readers=0, network="lo"):
        for task in pathlib.Path("/proc/self/task").iterdir():
            if (task / "comm").read_text().strip() == "fluvial remote":
                print(*os.sched_getaffinity(int(task.name)))
except fl.InvalidArgument as error:
    print(error)
"""


def serve(folder, *, bound_to=-1, other_thread_on="", **variables):
    """Return what a writer prints: the cores of its thread, or an error."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in (*BINDING, "FLUVIAL_SERVICE_CORES")
    }
    command = [sys.executable, "-c", WRITER, str(folder), str(bound_to), str(other_thread_on)]
    ended = subprocess.run(command, env=env | variables, capture_output=True, text=True, check=True)
    return ended.stdout


def cores_of(printed):
    return set(map(int, printed.split()))


@several_cores
def test_it_runs_on_the_cores_that_no_rank_is_bound_to(tmp_path):
    assert cores_of(serve(tmp_path, bound_to=min(CORES))) == CORES - {min(CORES)}


def test_no_core_is_spare_where_the_rank_may_run_anywhere(tmp_path):
    assert cores_of(serve(tmp_path)) == CORES


@pytest.mark.skipif(len(CORES) != 2, reason="others than the two are spare")
def test_cores_of_other_threads_are_not_spare(tmp_path):
    printed = serve(tmp_path, bound_to=min(CORES), other_thread_on=max(CORES))
    assert cores_of(printed) == {min(CORES)}


@several_cores
@pytest.mark.parametrize("variable", BINDING)
def test_threads_that_the_program_binds_later_keep_their_cores(tmp_path, variable):
    printed = serve(tmp_path, bound_to=min(CORES), **{variable: "granularity=core"})
    assert cores_of(printed) == {min(CORES)}


@several_cores
@pytest.mark.parametrize(
    ("given", "cores"),
    [(str(max(CORES)), {max(CORES)}), ("any", CORES), ("bound", {min(CORES)})],
)
def test_it_runs_where_the_environment_says(tmp_path, given, cores):
    printed = serve(tmp_path, bound_to=min(CORES), FLUVIAL_SERVICE_CORES=given)
    assert cores_of(printed) == cores


@pytest.mark.parametrize("given", ["x", "2-1", "-1", "1023"])
def test_cores_that_there_are_not(tmp_path, given):
    printed = serve(tmp_path, FLUVIAL_SERVICE_CORES=given)
    assert "FLUVIAL_SERVICE_CORES names no cores" in printed
