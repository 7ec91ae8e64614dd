# SPDX-License-Identifier: Apache-2.0
"""Pipes whose source dies, whose destination is full or dies, and that are interrupted."""

import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until

import fluvial as fl


def reached(jobs, step, what):
    wait_until((jobs.where / f"{what}-{step}").exists, timeout=30, what=f"{what}-{step}")


def steps_in(path):
    """Return the numbers of the steps of a file, each of which must be whole."""
    with fl.open(str(path)) as file:
        for step in file:
            assert (step["x"].read() == step.index).all()
        return file.steps.indices


def capture(comm, fl, where, target, limit=None):
    """Pipe the stream into a file; touch `piped-N` after N steps."""
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # as a disk of that size
    try:
        report = fl.pipe(
            *(stream_name(where), where / target, comm),
            reading=SHORT,
            writing=SHORT,
            on_step=lambda report: (where / f"piped-{report.steps}").touch(),
        )
    except fl.Error as error:
        return type(error).__name__, str(error)
    return report.steps


@scenario("writer on 1 process, pipe on 1 process", writer=write, pipe=capture)
def test_a_writer_that_is_killed(jobs):
    jobs.start("writer", queue_steps=100, pause=0.005)
    jobs.start("pipe", target="a.h5")
    reached(jobs, 5, "piped")
    os.kill(jobs["writer"].pid(0), signal.SIGKILL)
    kind, message = jobs.outcome("pipe").values[0]
    assert kind == "PeerLost"
    steps = steps_in(jobs.where / "a.h5")
    assert steps == list(range(len(steps)))
    assert len(steps) >= 5
    assert f"{len(steps)} steps are whole in '" in message


@scenario("writer on 2 ranks, pipe on 2 ranks", writer=write, pipe=capture)
def test_a_writer_that_is_killed_is_an_error_on_all_ranks(jobs):
    jobs.start("writer", queue_steps=100, pause=0.01)
    jobs.start("pipe", target="a%T.h5")
    reached(jobs, 5, "piped")
    os.kill(jobs["writer"].pid(1), signal.SIGKILL)
    found = jobs.outcome("pipe").values
    assert [kind for kind, _ in found] == ["PeerLost"] * 2
    steps = steps_in(jobs.where / "a%T.h5")
    assert all(f"{len(steps)} steps are whole" in message for _, message in found)


@scenario("writer on 1 process, pipe on 1 process", writer=write, pipe=capture)
def test_a_destination_that_is_full(jobs):
    """8 kB a step: some of them fit; the writer goes on without its reader."""
    jobs.start("writer", steps=60, pause=0.001)
    jobs.start("pipe", target="a.h5", limit=200_000)
    kind, message = jobs.outcome("pipe").values[0]
    assert kind == "SystemError"
    assert "cannot be written" in message
    steps = steps_in(jobs.where / "a.h5")
    assert steps == list(range(len(steps)))
    assert f"{len(steps)} steps are whole in" in message
    assert 5 < len(steps) < 25
    writer = jobs.outcome("writer").values[0]
    assert (writer["error"], writer["steps_written"]) == (None, 60)


def relay(comm, fl, where):
    """Pipe a file into the stream that the readers of these tests open."""
    with fl.open(str(where / "a.h5"), "w") as series:
        for index in range(60):
            with series.step() as step:
                step.put("x", np.full(1000, index))
    report = fl.pipe(where / "a.h5", stream_name(where), rate=100, writing=SHORT)
    return report.steps


@scenario("pipe on 1 process, doomed reader on 1 process", pipe=relay, reader=read)
def test_a_reader_of_the_destination_that_is_killed(jobs):
    jobs.start("pipe", "doomed_reader")
    reached(jobs, 5, "read")
    os.kill(jobs["doomed_reader"].pid(0), signal.SIGKILL)
    assert jobs.outcome("pipe").values == [60]


def relay_live(comm, fl, where):
    try:
        fl.pipe(stream_name(where), f"{stream_name(where)}-b", reading=SHORT, writing=SHORT)
    except fl.Error as error:
        return type(error).__name__, str(error)
    return None


def read_second(comm, fl, where):
    seen = []
    try:
        with fl.open(f"{stream_name(where)}-b", **SHORT) as series:
            for step in series:
                seen.append(step.index)
                (where / f"read-{step.index}").touch()
    except fl.Error as error:
        return seen, type(error).__name__, str(error)
    return seen, None, None


@scenario(
    "writer on 1 process, pipe on 1 process, reader on 1 process",
    writer=write,
    pipe=relay_live,
    reader=read_second,
)
def test_the_end_of_a_chain_hears_that_its_beginning_has_died(jobs):
    jobs.start("writer", pause=0.005)
    jobs.start("pipe", "reader")
    reached(jobs, 5, "read")
    os.kill(jobs["writer"].pid(0), signal.SIGKILL)
    kind, message = jobs.outcome("pipe").values[0]
    seen, last_kind, last_message = jobs.outcome("reader").values[0]
    assert (kind, last_kind) == ("PeerLost", "PeerLost")
    assert "died" in message
    assert "died" in last_message
    assert f"{len(seen)} steps are whole" in message


@pytest.fixture
def command(tmp_path):
    """Run `fluvial pipe` beside a writer of this process; return it once steps are piped."""
    series = fl.open("p", "w", readers=0, directory=tmp_path, queue_steps=100)

    def write_one(index):
        with series.step() as step:
            step.put("x", np.full(1000, index))

    for index in range(5):
        write_one(index)
    target = tmp_path / "a.h5"
    words = ["pipe", "p", str(target), "--directory", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "fluvial", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(
            lambda: series.stats["readers"] == 1 and series.stats["queue_depth"] == 0,
            timeout=30,
            what="all steps to be piped",
        )
        write_one(5)
        yield process, target, series
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        series.close()


def test_ctrl_c_closes_the_destination(command):
    process, target, series = command
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    steps = steps_in(target)
    assert steps in ([*range(5)], [*range(6)])
    assert f"interrupted; {len(steps)} steps" in said
    assert series.stats["readers_lost"] == 0


def test_a_pipe_that_is_killed_leaves_whole_steps(command):
    process, target, series = command
    wait_until(lambda: series.stats["queue_depth"] == 0, timeout=20)
    process.kill()
    process.wait()
    assert steps_in(target) in ([*range(5)], [*range(6)])
