# SPDX-License-Identifier: Apache-2.0
"""The rank that serves readers on other hosts is killed: another one of its host takes them over.

Launchers end a job when one of their children dies, so each rank is the child of a shell, which
waits until the others have told what they saw.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
from faults.roles import SHORT
from fluvial.launch import Launcher
from harness import scenario, wait_until

RANK = pathlib.Path(__file__).with_name("standby_rank.py")
RANK_SHELL = """"$@"; for i in $(seq 300); do
[ "$(ls "$FOLDER" | grep -c '^told-')" -ge "$SURVIVORS" ] && break; sleep 0.1; done"""
RANKS = 3


def write(comm, fl, where, steps=60, elements=1000, pause=0.01, datasets=0):
    """Start the ranks; return what those that lived on told, once all have ended."""
    argv = ["sh", "-c", RANK_SHELL, "sh", sys.executable, str(RANK), str(where)]
    argv += [str(steps), str(elements), str(pause), str(datasets)]
    env = {"FOLDER": str(where), "SURVIVORS": str(RANKS - 1)}
    env["PYTHONPATH"] = f"{RANK.parent.parent}:{os.environ.get('PYTHONPATH', '')}"
    launcher = Launcher.detect()
    subprocess.run(launcher.command(RANKS, argv), env=os.environ | env, check=False)
    return {int(told.name[-1]): told.read_text().split("\n", 1) for told in where.glob("told-*")}


def read(comm, fl, where, pause=0.0, twice=False):
    """Read until the end or an error."""
    seen, error, last = [], None, time.monotonic()
    try:
        options = {**SHORT, "stall_timeout": 5, "directory": where}
        with fl.open("taken-over", comm=comm, **options) as series:
            for step in series:
                for _ in range(1 + twice):
                    assert (step["x"].read() == step.index).all()
                    time.sleep(pause)
                for name in list(step)[-3:]:  # of a description that was fetched, perhaps
                    assert (step[name].read() == step.index).all()
                seen.append(step.index)
                (where / f"read-{step.index}").touch()
                last = time.monotonic()
    except fl.Error as caught:
        error = (type(caught).__name__, str(caught))
    return seen, error, time.monotonic() - last


def kill(jobs, rank):
    """Kill a rank, which is in a namespace of processes of its own: by its command line."""
    words = ["pgrep", "-f", f"standby_rank.py {jobs.where}"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    names = (b"PMI_RANK=%d\0" % rank, b"OMPI_COMM_WORLD_RANK=%d\0" % rank)
    for process in found.stdout.split():
        with contextlib.suppress(OSError):
            proc = pathlib.Path("/proc", process)
            environment = proc.joinpath("environ").read_bytes()
            is_python = proc.joinpath("comm").read_text().startswith("python")
            if is_python and any(name in environment for name in names):
                os.kill(int(process), signal.SIGKILL)
                return
    raise ProcessLookupError(f"rank {rank}")


def check(jobs, died=0):
    told = jobs.outcome("writer").values[0]
    assert sorted(told) == [rank for rank in range(RANKS) if rank != died]
    for _, error in told.values():
        assert f"rank {died} of {RANKS} of the writer" in error
    return max(int(written) for written, _ in told.values())


@pytest.mark.parametrize("elements", [10, 1000, 100_000])
@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_the_reader_gets_all_complete_steps(jobs, elements):
    """As it does when another rank dies, and then the error that names the rank."""
    jobs.start("writer", elements=elements)
    jobs.start("reader", pause=0.05)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    kill(jobs, 0)
    seen, (kind, message), after_s = jobs.outcome("reader").values[0]
    complete = check(jobs)
    assert seen == list(range(len(seen)))
    assert kind == "PeerLost"
    if "was on its way" in message:  # small steps leave the queue as they are sent
        assert elements < 100_000
        assert len(seen) < complete
    else:
        assert f"rank 0 of {RANKS} of the writer" in message
        assert len(seen) == complete
    assert after_s < 2


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_read_that_is_under_way_goes_on(jobs):
    jobs.start("writer", elements=1_000_000, pause=0)
    jobs.start("reader", twice=True)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    kill(jobs, 0)
    seen, (kind, message), _ = jobs.outcome("reader").values[0]
    assert check(jobs) == len(seen)
    assert seen == list(range(len(seen)))
    assert kind == "PeerLost"
    assert "rank 0 of 3 of the writer" in message


@scenario(
    "writer on 1 process of host 1, reader on 1 process of host 2",
    writer=write,
    reader=read,
    timeout=120,
)
def test_the_rank_is_killed_at_any_moment(jobs, seed):
    """Between its opening and its end: what the reader gets is whole, in order, and once."""
    chance = random.Random(seed)
    jobs.start("writer", steps=200, elements=chance.choice([10, 3000, 100_000]), pause=0.003)
    jobs.start("reader", pause=chance.choice([0, 0.01]))
    wait_until((jobs.where / "taken-over.fluvial").exists, timeout=30)
    time.sleep(chance.uniform(0, 0.5))
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        kill(jobs, 0)
    seen, error, after_s = jobs.outcome("reader").values[0]
    assert seen == list(range(len(seen)))
    if seen and error:  # else it ended in time, or the rank died before the reader was in
        kind, message = error
        assert kind == "PeerLost"
        assert "rank 0 of 3 of the writer" in message or "was on its way" in message
        assert after_s < 2


@pytest.mark.parametrize("at_step", [2, 3])
@scenario("writer on 1 process of host 1, reader on 2 ranks of host 2", writer=write, reader=read)
def test_descriptions_that_are_fetched_once(jobs, at_step):
    """Steps that wait at the reader, with descriptions that only the dead rank had, come again."""
    jobs.start("writer", elements=100_000, datasets=3000)
    jobs.start("reader", pause=0.4)
    wait_until((jobs.where / f"read-{at_step}").exists, timeout=30)
    time.sleep(0.2)  # by now the next step is open, and others wait
    kill(jobs, 0)
    outcomes = jobs.outcome("reader").values
    complete = check(jobs)
    for seen, (kind, message), after_s in outcomes:
        assert seen == list(range(complete))
        assert kind == "PeerLost"
        assert "rank 0 of 3 of the writer" in message
        assert after_s < 2


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_both_ranks_are_killed(jobs):
    """None takes the reader over: it is told at once."""
    jobs.start("writer")
    jobs.start("reader", pause=0.05)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    for rank in (1, 0):
        kill(jobs, rank)
    (jobs.where / "told-1").write_text("0\nkilled")
    seen, (kind, _), after_s = jobs.outcome("reader").values[0]
    assert seen == list(range(len(seen)))
    assert kind == "PeerLost"
    assert after_s < 2
