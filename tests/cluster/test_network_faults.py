# SPDX-License-Identifier: Apache-2.0
"""A writer and a reader on several hosts, of which one dies, stops, fails or is cut off."""

import os
import resource
import signal
import socket
import time

import numpy as np
import pytest
from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until


def reached(jobs, step, what="read"):
    wait_until((jobs.where / f"{what}-{step}").exists, timeout=30, what=f"{what}-{step}")


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_killed_writer(jobs):
    """Its steps lie in its memory, so the reader gets no more of them."""
    jobs.start("writer")
    jobs.start("reader", pause=0.01)
    reached(jobs, 5)
    killed = time.monotonic()
    os.kill(jobs["writer"].pid(0), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    assert time.monotonic() - killed < 10  # and not the 15 s that a step is waited for
    kind, message = result["error"]
    assert kind == "PeerLost"
    assert "the connection to the writer of" in message
    assert result["seen"] == list(range(len(result["seen"])))
    assert result["after_s"] < 1


@scenario("writer on 2 ranks of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_killed_rank_of_the_writer(jobs):
    jobs.start("writer")
    jobs.start("reader")
    reached(jobs, 3)
    os.kill(jobs["writer"].pid(1), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    kind, _ = result["error"]
    assert kind == "PeerLost"
    assert result["after_s"] < 3
    assert jobs.outcome("writer").returncode != 0


@scenario(
    "writer on 1 process of host 1, doomed reader on 1 process of host 2, "
    "reader on 1 process of host 2",
    writer=write,
    reader=read,
)
def test_a_killed_reader(jobs):
    """The writer goes on, though its policy is to wait, and so does the other reader."""
    jobs.start("writer", readers=2, queue_steps=2, steps=150, pause=0.005)
    jobs.start("doomed_reader", "reader")
    reached(jobs, 5)
    os.kill(jobs["doomed_reader"].pid(0), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    assert result["error"] is None
    assert result["seen"] == list(range(150))
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["readers_lost"] == 1


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_stopped_reader_is_evicted_and_told(jobs):
    jobs.start("writer", queue_steps=2, steps=200, pause=0.01)
    jobs.start("reader", pause=0.01)
    reached(jobs, 3)
    jobs["reader"].signal(signal.SIGSTOP)
    writer = jobs.outcome("writer").values[0]  # which does not wait for it at its end
    jobs["reader"].signal(signal.SIGCONT)
    assert writer["error"] is None
    assert writer["readers_evicted"] == 1
    assert writer["longest_step_s"] < SHORT["stall_timeout"] + 2
    kind, message = jobs.outcome("reader").values[0]["error"]
    assert kind in ("PeerStalled", "PeerLost")
    assert "lost its place" in message or "connection" in message or "has ended before" in message


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_stopped_writer(jobs):
    """Its kernel goes on acknowledging; its heartbeats end."""
    jobs.start("writer", steps=100)
    jobs.start("reader", pause=0.005)
    reached(jobs, 5)
    jobs["writer"].signal(signal.SIGSTOP)
    kind, message = jobs.outcome("reader").values[0]["error"]
    jobs["writer"].signal(signal.SIGCONT)
    assert kind == "PeerStalled"
    assert "no heartbeat" in message
    assert jobs.outcome("writer").values[0]["error"] is None


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_cable_that_is_cut(jobs):
    """Both sides learn it within `stall_timeout`; the writer goes on."""
    jobs.start("writer", queue_steps=2, steps=300, pause=0.01)
    jobs.start("reader")
    reached(jobs, 5)
    jobs.box.unplug(2)
    cut = time.monotonic()
    kind, _ = jobs.outcome("reader").values[0]["error"]
    assert time.monotonic() - cut < SHORT["stall_timeout"] + 4
    assert kind == "PeerStalled"
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["steps_written"] == 300
    assert writer["readers_evicted"] + writer["readers_lost"] >= 1


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_cable_that_is_back_in_time(jobs):
    """Nothing is lost, and no program is told."""
    jobs.start("writer", queue_steps=2, steps=60, pause=0.01, stall_timeout=8)
    jobs.start("reader", stall_timeout=8)
    reached(jobs, 5)
    jobs.box.unplug(2)
    time.sleep(1)
    jobs.box.plug_in(2)
    result = jobs.outcome("reader").values[0]
    assert result["error"] is None
    assert result["seen"] == list(range(60))
    assert jobs.outcome("writer").values[0]["error"] is None


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_cable_that_is_out_while_a_reader_opens:
    """It asks again for as long as it would wait for a writer; here beyond one attempt of 3 s."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=5)

    def reader(comm, fl, where):
        (where / "opening").touch()
        return read(comm, fl, where)

    def check(jobs):
        jobs.start("writer")
        wait_until((jobs.where / f"{stream_name(jobs.where)}.fluvial").exists, timeout=30)
        jobs.box.unplug(1)
        jobs.start("reader")
        wait_until((jobs.where / "opening").exists, timeout=30)
        time.sleep(4)
        jobs.box.plug_in(1)
        result = jobs.outcome("reader").values[0]
        assert result["error"] is None
        assert result["seen"] == list(range(5))
        writer = jobs.outcome("writer").values[0]
        assert writer["error"] is None
        assert writer["readers_joined"] == 1


def read_large(comm, fl, where):
    with fl.open(stream_name(where), **SHORT) as series:
        step = series.next()
        (where / "reading").touch()
        try:
            while True:
                assert (step["x"][1:] == 7).all()
        except fl.Error as error:
            return type(error).__name__, str(error)


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_writer_killed_in_the_middle_of_a_read:
    """Never a part of an array for the whole."""

    def reader(comm, fl, where):
        return read_large(comm, fl, where)

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **SHORT) as series:
            with series.step() as step:
                step.put("x", np.full(8_000_000, 7))
            time.sleep(60)

    def check(jobs):
        jobs.start("writer", "reader")
        wait_until((jobs.where / "reading").exists, timeout=30)
        time.sleep(0.3)
        os.kill(jobs["writer"].pid(0), signal.SIGKILL)
        outcome = jobs.outcome("reader")
        assert outcome.values[0], str(outcome)
        kind, _ = outcome.values[0]
        assert kind == "PeerLost"


@scenario(
    "writer on 4 ranks of hosts 1-2, reader on 1 process of host 3", writer=write, reader=read
)
def test_a_killed_rank_of_a_writer_on_two_hosts(jobs):
    """Each host learns of the failure from the other."""
    jobs.start("writer")
    jobs.start("reader")
    reached(jobs, 3)
    os.kill(jobs["writer"].pid(3), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    kind, _ = result["error"]
    assert kind == "PeerLost"
    assert result["after_s"] < 5
    assert jobs.outcome("writer").returncode != 0


@scenario("writer on 2 ranks of hosts 1-2, reader on 1 process of host 2")
class test_a_rank_that_fails_on_one_host:
    """The others are told why, on their hosts, and so is the reader."""

    def writer(comm, fl, where):
        whole = 0
        try:
            with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series:
                for index in range(200):
                    if comm.rank == 1 and index == 20:
                        raise RuntimeError("the mesh is tangled")
                    with series.step() as step:
                        step.put("x", np.full(10, index), offset=(10 * comm.rank,), shape=(20,))
                    whole += 1
                    time.sleep(0.005)
        except (fl.Error, RuntimeError) as error:
            return type(error).__name__, str(error), whole

    def reader(comm, fl, where):
        return read(comm, fl, where)

    def check(jobs):
        results = jobs.finish()
        assert results["writer"][1] == ("RuntimeError", "the mesh is tangled", 20)
        kind, message, whole = results["writer"][0]
        assert kind == "PeerLost"
        assert "the mesh is tangled" in message
        kind, message = results["reader"][0]["error"]
        assert kind == "PeerLost"
        assert "the mesh is tangled" in message
        # Ranks do not wait for each other: steps that the other rank had not finished are not
        # whole, nor those that it never began. It may have been told at the end of one that is.
        seen = results["reader"][0]["seen"]
        assert seen == list(range(len(seen)))
        assert min(whole, 20) <= len(seen) <= min(whole + 1, 20)


@scenario("writer on 2 ranks of hosts 1-2, reader on 1 process of host 1")
class test_a_rank_that_closes_early_on_one_host:
    """All ranks must write the same steps; ranks that wrote more get an error."""

    def writer(comm, fl, where):
        try:
            with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series:
                for index in range(20 if comm.rank else 400):
                    with series.step() as step:
                        step.put("x", np.full(10, index), offset=(10 * comm.rank,), shape=(20,))
                    time.sleep(0.005)
        except fl.Error as error:
            return type(error).__name__, str(error)

    def reader(comm, fl, where):
        return read(comm, fl, where)

    def check(jobs):
        results = jobs.finish()
        kind, message = results["writer"][0]
        assert kind == "PeerLost"
        assert "closed the stream after 20 steps" in message
        assert results["reader"][0]["error"][0] == "PeerLost"
        assert results["reader"][0]["seen"] == list(range(20))


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_strangers_in_the_network:
    """A thousand clients that send nothing, or anything, keep no reader from attaching."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=3, rendezvous_timeout=60)

    def reader(comm, fl, where):
        path = where / f"{stream_name(where)}.fluvial"
        wait_until(path.exists, timeout=30)
        fields = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
        address, port = fields["addresses"].split(",")[0].rsplit(":", 1)
        rng = np.random.default_rng(1)
        strangers = []
        for number in range(1000):
            strangers.append(socket.create_connection((address, int(port)), timeout=10))
            if number % 2:
                strangers[-1].send(rng.bytes(200))
        result = read(comm, fl, where)
        time.sleep(2.5)
        left = sum(not is_closed(stranger) for stranger in strangers)
        return result["seen"], left

    def check(jobs):
        ((seen, left),) = jobs.finish()["reader"]
        assert seen == [0, 1, 2]
        assert left == 0


def is_closed(stranger):
    """Tell whether the other end has closed it, whatever was said before."""
    stranger.settimeout(0.001)
    try:
        while stranger.recv(64):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_writer_without_free_descriptors:
    """A reader that cannot be let in is told why, and comes in once there is one."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", readers=0, **SHORT) as series:
            highest = max(map(int, os.listdir("/proc/self/fd")))
            taken = [os.open("/dev/null", os.O_RDONLY)]
            while taken[-1] <= highest:
                taken.append(os.dup(taken[-1]))
            usual = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 2, usual[1]))  # one more
            (where / "none-free").mkdir()
            wait_until((where / "refused").exists, timeout=30)
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)
            (where / "some-free").mkdir()
            wait_until((where / "let-in").exists, timeout=30)
            with series.step() as step:
                step.put("x", np.arange(5))

    def reader(comm, fl, where):
        wait_until((where / "none-free").exists, timeout=30)
        with pytest.raises(fl.Error, match="Too many open files"):
            fl.open(stream_name(where), **SHORT)
        (where / "refused").mkdir()
        wait_until((where / "some-free").exists, timeout=30)
        with fl.open(stream_name(where), **SHORT) as series:
            (where / "let-in").mkdir()
            return series.next()["x"].read().tolist()

    def check(jobs):
        assert jobs.finish()["reader"] == [[0, 1, 2, 3, 4]]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_writer_killed_in_the_middle_of_reads_by_libfabric:
    """Libfabric does not report it; the TCP connection beside it does."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **SHORT) as series:
            with series.step() as step:
                step.put("x", np.full(8_000_000, 7))
            time.sleep(60)

    def reader(comm, fl, where):
        with fl.open(stream_name(where), transport="libfabric:tcp;ofi_rxm", **SHORT) as series:
            step = series.next()
            (where / "reading").touch()
            try:
                while True:
                    assert (step["x"][1:] == 7).all()
            except fl.Error as error:
                return type(error).__name__, str(error)

    def check(jobs):
        jobs.start("writer", "reader")
        wait_until((jobs.where / "reading").exists, timeout=30)
        time.sleep(0.3)
        os.kill(jobs["writer"].pid(0), signal.SIGKILL)
        killed = time.monotonic()
        kind, _ = jobs.outcome("reader").values[0]
        assert kind == "PeerLost"
        assert time.monotonic() - killed < 10
