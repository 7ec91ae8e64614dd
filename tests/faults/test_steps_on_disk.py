# SPDX-License-Identifier: Apache-2.0
"""Spilled and retained steps when a side stops, the disk is damaged, or two resume."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from faults.numbered_steps import indices, pair, put
from faults.roles import read, write
from harness import scenario, wait_until

import fluvial as fl


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_stopped_reader_does_not_stop_a_writer_that_spills(jobs):
    """It is evicted, and its steps are given back to the disk."""
    jobs.start("writer", steps=150, pause=0.01, full="spill", queue_steps=2)
    jobs.start("reader", pause=0.005)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    os.kill(jobs["reader"].pid(0), signal.SIGSTOP)
    wait_until((jobs.where / "step-149").exists, timeout=30)
    os.kill(jobs["reader"].pid(0), signal.SIGCONT)
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["longest_step_s"] < 0.9  # less than the reader was waited for
    assert writer["steps_spilled"] > 10
    result = jobs.outcome("reader").values[0]
    assert result["seen"] == list(range(len(result["seen"])))
    assert result["error"][0] == "PeerStalled" or len(result["seen"]) == 150


def test_two_cannot_resume_under_one_name(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
        with fl.open("disk", resume="plot") as first:
            with pytest.raises(fl.InvalidArgument, match="position 'plot' is in use"):
                fl.open("disk", resume="plot")
            with fl.open("disk", resume="other") as second:
                assert first.next().index == second.next().index == 0
        with fl.open("disk", resume="plot") as again:
            put(writer, 1)
            assert again.next().index == 1


def test_a_step_that_failed_in_the_middle_comes_again(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(5):
            put(writer, index)
    for first in (0, 2, 4):
        with pytest.raises(ZeroDivisionError), fl.open("disk", resume="plot") as reader:
            for step in reader:
                if step.index == first + 2 or step.index == 4:
                    raise ZeroDivisionError
                assert step.index >= first


def test_steps_of_an_earlier_run_are_not_lost_without_a_word(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    with pytest.raises(fl.InvalidArgument, match=r"steps of an earlier run are in .*disk\.steps"):
        fl.open("disk", "w", readers=0, retain=True)
    shutil.rmtree(folder / "disk.steps")
    fl.open("disk", "w", readers=0, retain=True).close()


@pytest.mark.parametrize("options", [{}, {"transport": "tcp"}])
def test_a_reader_that_resumes_begins_anew_with_the_steps_of_another_run(folder, options):
    """Of which only the files of steps were removed: positions in the first run mean nothing."""
    for steps in (5, 7):
        with fl.open("disk", "w", readers=0, retain=True) as writer:
            for index in range(steps):
                put(writer, index)
            with fl.open("disk", resume="plot", step_timeout=5, **options) as reader:
                assert [reader.next().index for _ in range(steps)] == list(range(steps))
            with fl.open("disk", resume="plot", step_timeout=5, **options) as reader:
                put(writer, steps)
                assert reader.next().index == steps
        with fl.open("disk", resume="plot") as reader:
            assert indices(reader) == []
        for file in ("steps", "data"):
            (folder / "disk.steps" / file).unlink()


def test_what_a_stream_that_is_not_retained_says(folder):
    with fl.open("disk", "w", readers=0) as writer:
        put(writer, 0)
        with pytest.raises(fl.InvalidArgument, match=r"cannot resume: got no steps in .*retain"):
            fl.open("disk", resume="plot")
        with pytest.raises(fl.InvalidArgument, match=r"start='first'.*retain"):
            fl.open("disk", start="first")


def test_the_steps_of_another_run_are_not_taken_for_these(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    other = folder / "other"
    other.mkdir()
    with fl.open("disk", "w", readers=0, retain=other) as writer:
        put(writer, 0)
        with pytest.raises(fl.InvalidArgument, match=r"of another run.*retained"):
            fl.open("disk", resume="plot")
        with fl.open("disk", resume="plot", retained=other) as reader:
            assert reader.next().index == 0


def test_damage_is_an_error_of_the_step_that_it_struck(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(6):
            put(writer, index)
    data = folder / "disk.steps" / "data"
    stored = bytearray(data.read_bytes())
    at = stored.index(np.full(1000, 3.0).tobytes()) + 777
    stored[at] ^= 4
    data.write_bytes(stored)
    found = []
    with fl.open("disk") as reader:
        for step in reader:
            if step.index == 3:
                with pytest.raises(fl.DamagedFile, match="chunk of 'x' in step 3 is damaged"):
                    step["x"].read()
            else:
                step["x"].read()
            found.append(step.index)
    assert found == list(range(6))


def test_damage_of_a_spilled_step_is_an_error_of_that_step_alone(folder):
    """Its file has no name; a process with a descriptor, or a disk that fails, may change it."""
    writer, reader = pair(full="spill", spill=folder)
    for index in range(6):
        put(writer, index)
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    for link in links:
        if os.path.lexists(link) and os.readlink(link).startswith(f"{folder}/"):
            at = pathlib.Path(link).read_bytes().find(np.full(1000, 4.0).tobytes())
            if at >= 0:
                with open(link, "r+b") as file:
                    file.seek(at + 99)
                    file.write(b"\x01")
                break
    else:
        pytest.fail("step 4 does not lie on the disk")
    writer.close()
    for step in reader:
        if step.index == 4:
            with pytest.raises(fl.DamagedFile, match="chunk of 'x' in step 4 is damaged"):
                step["x"].read()
        else:
            assert (step["x"].read() == step.index).all()
    assert step.index == 5
    reader.close()


def test_a_late_reader_begins_with_the_first_step_and_catches_up(folder):
    with fl.open("disk", "w", readers=0, queue_steps=2, retain=True, full="spill") as writer:
        writer.attrs = {"author": "us"}
        for index in range(10):
            put(writer, index)
        with fl.open("disk", start="first") as reader:
            found = [reader.next().index for _ in range(10)]
            put(writer, 10)
            found.append(reader.next().index)
            assert found == list(range(11))
            assert reader.attrs["author"] == "us"
        with fl.open("disk", start="next") as reader:
            put(writer, 11)
            assert reader.next().index == 11
    with fl.open("disk") as reader:
        assert indices(reader) == list(range(12))
        assert reader.attrs["author"] == "us"
        assert reader.stats["steps_from_disk"] == 12


def test_steps_that_others_may_have_put_there_are_refused(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    steps = folder / "disk.steps"
    steps.chmod(0o777)
    with pytest.raises(fl.Refused, match=r"others may write to retained steps: got .*disk\.steps"):
        fl.open("disk")
    steps.chmod(0o700)
    with fl.open("disk") as reader:
        assert indices(reader) == [0]
    if os.geteuid() != 0:
        pytest.skip("to give a file to another user needs root")
    os.chown(steps / "data", 2, 2)
    with pytest.raises(fl.Refused, match="retained steps belong to another user"):
        fl.open("disk")


SLEEPER = """
import os, signal, time
import fluvial as fl
with fl.open("disk", stall_timeout=1) as reader:
    time.sleep(1)
    while reader.stats["steps_from_disk"] < 2:
        step = reader.next()
    print("reads", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        step["x"].read()
    except fl.Error as error:
        print(type(error).__name__, error)
"""


def test_a_reader_that_was_stopped_is_told_why_its_step_is_gone(folder):
    """It had begun the step, which lay on the disk; its place there was given back."""
    options = {"stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([sys.executable, "-c", SLEEPER], **options) as sleeper,
        fl.open("disk", "w", full="spill", queue_steps=2, stall_timeout=1) as writer,
    ):
        for index in range(10):
            put(writer, index, 10000)
        assert sleeper.stdout.readline() == "reads\n"
        wait_until(lambda: writer.stats["readers_evicted"] == 1)
        put(writer, 10)  # which gives back steps that no reader wants
        sleeper.send_signal(signal.SIGCONT)
        said = sleeper.stdout.read()
    assert said.startswith("PeerStalled a chunk of 'x' in step 3 is not on the disk any more"), said
