# SPDX-License-Identifier: Apache-2.0
"""fork() in a program that has a pool: the tasks stay the parent's."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from harness import wait_until

pytestmark = [pytest.mark.any_mpi, pytest.mark.timeout(120)]

USES = """
import os, pathlib, sys, time
import fluvial as fl

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    return path

go = os.path.join(sys.argv[2], "go")
with fl.Pool(int(sys.argv[1]) or None, trace=True, journal=go + ".journal") as pool:
    done = pool.submit(abs, -3)
    done.result()
    waits, queued = (pool.submit(wait_for, go) for _ in range(2))
    child = os.fork()
    if child == 0:
        uses = [
            lambda: pool.submit(abs, 1), lambda: list(pool.map(abs, [1])),
            lambda: pool.with_options(key="a").submit(abs, 1),
            lambda: pool.together(fl.task(abs, 1)), lambda: waits.result(5),
            lambda: waits.exception(5), lambda: queued.cancel(), pool.timeline,
            lambda: waits.running(),
        ]
        for number, use in enumerate(uses):
            try:
                use()
                os._exit(100 + number)
            except fl.InvalidArgument as error:
                assert f"process {os.getppid()}, which opened it" in str(error), error
        assert done.result() == 3
        pool.shutdown()
        with pool:
            pass
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    pathlib.Path(go).touch()
    print([pool.submit(abs, -number).result() for number in range(3)])
    print(waits.result() == queued.result() == go)
"""
OUTLIVES = """
import os, time
import fluvial as fl

pool = fl.Pool(1)
rank = pool.submit(os.getpid).result()
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
print(rank, child, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_child_that_uses_the_pool_is_told_so(tmp_path, workers):
    argv = [sys.executable, "-u", "-c", USES, str(workers), str(tmp_path)]
    ran = subprocess.run(
        argv, capture_output=True, text=True, timeout=60, check=False, start_new_session=True
    )
    assert ran.stdout.splitlines() == ["7", "[0, 1, 2]", "True"], ran.stderr


def test_a_child_that_outlives_a_killed_program_does_not_keep_its_ranks():
    program = subprocess.Popen([sys.executable, "-c", OUTLIVES], stdout=subprocess.PIPE, text=True)
    rank, child = map(int, program.stdout.readline().split())
    try:
        program.kill()
        program.wait()
        wait_until(lambda: not is_running(rank), timeout=30, what="the end of the rank")
        assert is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)
        program.stdout.close()


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


FORKS = """
import os, sys
import fluvial as fl

def forks(how):
    child = os.fork()
    if child == 0:
        print("the child", how, flush=True)
        if how == "raises":
            raise ValueError(how)
        if how == "exits":
            sys.exit(7)
        return "of the child"
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def starts():
    assert forks("exits") == 7

with fl.Pool(int(sys.argv[1]) or None, initializer=starts) as pool:
    if pool.leads:
        print([pool.submit(forks, how).result() for how in ("raises", "exits", "returns")])
        print(pool.submit(abs, -3).result())
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_child_of_a_task_ends_where_its_function_does(workers):
    argv = [sys.executable, "-u", "-c", FORKS, str(workers)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    # What a rank prints may come after what the program prints.
    assert [line for line in lines if "child" not in line] == ["[1, 7, 0]", "3"]
    assert len(lines) == 6 and "ValueError: raises" in ran.stderr


def test_a_child_of_a_task_is_no_rank_of_the_job(launcher):
    argv = [sys.executable, "-u", "-c", FORKS, "0"]
    with launcher.start(2, argv, timeout=60, stdout=subprocess.PIPE) as job:
        said, _ = job.process.communicate()
        assert job.wait(60) == 0
    assert said.decode().endswith("[1, 7, 0]\n3\n")
