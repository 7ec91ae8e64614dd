# SPDX-License-Identifier: Apache-2.0
"""The resource_dict of executorlib's executors."""

import os
import subprocess
import sys
import time

import pytest

import fluvial as fl


@pytest.fixture(scope="module")
def pool():
    with fl.Pool(2, resources={"gpu": 4}) as pool:
        yield pool


@fl.parallel
def team(comm, word):
    return comm.size, word, os.getcwd()


def folder_of(path=None):
    return os.getcwd(), path and os.path.exists(path)


def test_what_it_stands_for(pool, tmp_path):
    (tmp_path / "there").touch()
    wide = {"cores": 2, "gpus_per_core": 2, "cwd": str(tmp_path), "priority": 3}
    whole = pool.submit(team, "x", resource_dict=wide).result(timeout=30)
    assert whole == (2, "x", str(tmp_path))
    one = pool.submit(team, word="y", resource_dict={"cores": 1})
    assert one.result(timeout=30)[:2] == (1, "y")
    inside = pool.submit(folder_of, path="there", resource_dict={"cwd": tmp_path})
    assert inside.result(timeout=30) == (str(tmp_path), True)
    for _ in range(2):
        assert pool.submit(folder_of).result(timeout=30)[0] == os.getcwd()
    limited = pool.submit(time.sleep, 30, resource_dict={"run_time_limit": 0.2})
    with pytest.raises(fl.TimedOut, match=r"up to 0\.2 s"):
        limited.result(timeout=30)
    usual = {
        "cores": 1, "threads_per_core": 1, "gpus_per_core": 0, "cwd": None, "num_nodes": None,
        "openmpi_oversubscribe": False, "slurm_cmd_args": [], "exclusive": False,
        "error_log_file": None, "run_time_limit": None, "priority": None, "restart_limit": 0,
    }  # fmt: skip
    assert pool.submit(abs, -1, resource_dict=usual).result(timeout=30) == 1
    assert pool.with_options(kind="k").submit(abs, -1, resource_dict={}).result(timeout=30) == 1


def test_a_function_may_have_such_a_parameter(pool):
    def own(resource_dict):
        return resource_dict

    assert pool.submit(own, resource_dict={"cores": 99}).result(timeout=30) == {"cores": 99}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"cores": 0}, fl.InvalidArgument, r"resource_dict\['cores'\].*got 0; allowed: 1 to"),
        ({"cores": 3}, fl.InvalidArgument, "no team can be as wide"),
        ({"cores": "2"}, fl.WrongType, r"resource_dict\['cores'\] has a type .*got '2'"),
        ({"gpus_per_core": -1}, fl.InvalidArgument, r"gpus_per_core'\].*got -1"),
        ({"core": 1}, fl.UnknownName, "got 'core'.*'cores'"),
        ({"threads_per_core": 2}, fl.InvalidArgument, "got 2; allowed: 1. .*OMP_NUM_THREADS"),
        ({"restart_limit": 1}, fl.InvalidArgument, "got 1; allowed: 0. .*retries"),
        ({"slurm_cmd_args": ["-A"]}, fl.InvalidArgument, r"got \['-A'\]; allowed: \[\]. .*srun"),
        ({"run_time_limit": -1}, fl.InvalidArgument, "run_time_limit"),
        ({"cwd": 7}, fl.WrongType, "cwd"),
        ({"cache_key": "k"}, fl.InvalidArgument, "journal"),
        (["cores"], fl.WrongType, "resource_dict.*allowed: a dict"),
    ],
)
def test_what_it_cannot_stand_for(pool, given, error, says):
    with pytest.raises(error, match=says):
        pool.submit(team, "x", resource_dict=given)


def test_more_than_hosts_have(pool):
    late = pool.submit(abs, 1, resource_dict={"gpus_per_core": 9}).exception(timeout=30)
    assert isinstance(late, fl.InvalidArgument) and "gpu" in str(late)


def test_a_serial_function_on_several_ranks_is_told(pool):
    with pytest.raises(fl.InvalidArgument, match=r"serial function.*@fluvial\.parallel"):
        pool.submit(folder_of, resource_dict={"cores": 2})


def test_a_folder_that_is_not_there_is_the_errors_of_the_task(pool, tmp_path):
    gone = {"cwd": tmp_path / "gone"}
    assert isinstance(pool.submit(folder_of, resource_dict=gone).exception(30), FileNotFoundError)


def test_the_folder_of_the_program_does_not_change(tmp_path):
    """In a process of its own: where other tests are, MPI may have ended."""
    program = """
import os, sys
import fluvial as fl

with fl.Pool() as pool:
    error = pool.submit(os.getcwd, resource_dict={"cwd": sys.argv[1]}).exception(timeout=30)
print(type(error).__name__, error)
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("InvalidArgument") and "the folder of the program" in printed
