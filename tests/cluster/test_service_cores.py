# SPDX-License-Identifier: Apache-2.0
"""The cores of the thread that serves readers on other hosts, which the environment says."""

import os
import pathlib
import threading

import pytest

import fluvial as fl

CORES = os.sched_getaffinity(0)


def cores_of_the_service():
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == "fluvial remote":
            return os.sched_getaffinity(int(task.name))
    return None


@pytest.fixture
def bound():
    """Bind this thread to one core, as a launcher does with ranks."""
    os.sched_setaffinity(0, {min(CORES)})
    yield
    os.sched_setaffinity(0, CORES)


def serve(folder, **options):
    with fl.open("cores", "w", directory=folder, readers=0, network="lo", **options):
        return cores_of_the_service()


@pytest.fixture
def nothing_said(monkeypatch):
    for variable in ("FLUVIAL_SERVICE_CORES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.skipif(len(CORES) < 2, reason="one core")
def test_it_runs_on_the_cores_that_no_rank_is_bound_to(bound, nothing_said, tmp_path):
    assert serve(tmp_path) == CORES - {min(CORES)}


def test_no_core_is_spare_where_the_rank_may_run_anywhere(nothing_said, tmp_path):
    assert serve(tmp_path) == CORES


@pytest.mark.skipif(len(CORES) < 2, reason="one core")
def test_cores_of_other_threads_are_not_spare(bound, nothing_said, tmp_path):
    stop = threading.Event()
    bound_elsewhere = threading.Event()

    def compute():
        os.sched_setaffinity(0, CORES - {min(CORES)})
        bound_elsewhere.set()
        stop.wait()

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        bound_elsewhere.wait()
        assert serve(tmp_path) == {min(CORES)}
    finally:
        stop.set()
        thread.join()


def test_threads_that_the_program_binds_later_keep_their_cores(
    bound, nothing_said, tmp_path, monkeypatch
):
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    assert serve(tmp_path) == {min(CORES)}


@pytest.mark.skipif(len(CORES) < 2, reason="one core")
@pytest.mark.parametrize(
    ("given", "cores"),
    [(str(max(CORES)), {max(CORES)}), ("any", CORES), ("bound", {min(CORES)})],
)
def test_it_runs_where_the_environment_says(bound, tmp_path, monkeypatch, given, cores):
    monkeypatch.setenv("FLUVIAL_SERVICE_CORES", given)
    assert serve(tmp_path) == cores


@pytest.mark.parametrize("given", ["x", "2-1", "-1", "1023"])
def test_cores_that_there_are_not(tmp_path, monkeypatch, given):
    monkeypatch.setenv("FLUVIAL_SERVICE_CORES", given)
    with pytest.raises(fl.InvalidArgument, match="FLUVIAL_SERVICE_CORES names no cores"):
        serve(tmp_path)
