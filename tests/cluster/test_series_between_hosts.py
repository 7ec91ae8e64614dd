# SPDX-License-Identifier: Apache-2.0
"""A writer on one host, readers on others and on its own, over a network in a box."""

import os
import signal
import socket
import time

import numpy as np
import pytest
from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until
from two_jobs import test_any_selection as any_selection


def selections(name, sentence, writers):
    def check(jobs, seed):
        jobs.start("writer", seed=seed)
        jobs.start("reader", seed=seed, writers=writers)
        results = jobs.finish()
        steps = any_selection.STEPS
        for compared, read_steps, *_ in results["reader"]:
            assert (compared, read_steps) == (steps * 13 * 7, steps)
        assert jobs.box.sent_bytes(1) > 20_000

    check.__name__ = name
    return scenario(sentence, writer=any_selection.write, reader=any_selection.read)(check)


test_two_to_three = selections(
    "test_two_to_three", "writer on 2 ranks of host 1, reader on 3 ranks of host 2", 2
)
test_readers_on_both_hosts = selections(
    "test_readers_on_both_hosts", "writer on 1 rank of host 1, reader on 4 ranks of hosts 1-2", 1
)


def transports(comm, fl, where, **options):
    with fl.open(stream_name(where), comm=comm, **SHORT, **options) as series:
        total = sum(float(step["x"].read().sum()) for step in series)
        return series.stats["transport"], total, series.stats["bytes_received"]


@scenario("writer on 2 ranks of host 1, reader on 4 ranks of hosts 1-2")
class test_ranks_take_the_way_that_there_is:
    """Memory where it is shared, the network elsewhere; the statistics say which."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=20, pause=0)

    def reader(comm, fl, where):
        return transports(comm, fl, where)

    def check(jobs):
        results = jobs.finish()
        ways = [way for way, _, _ in results["reader"]]
        assert ways == ["shared memory"] * 2 + ["tcp"] * 2
        assert {total for _, total, _ in results["reader"]} == {2000.0 * sum(range(20))}
        assert [received > 0 for *_, received in results["reader"]] == [False] * 2 + [True] * 2
        assert results["writer"][0]["error"] is None


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_encrypted_data:
    """Also what is said in the clear otherwise: the elements."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=5, pause=0, encrypt=True)

    def reader(comm, fl, where):
        return transports(comm, fl, where)

    def check(jobs):
        ((way, total, _),) = jobs.finish()["reader"]
        assert way == "tcp, encrypted"
        assert total == 1000.0 * sum(range(5))


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_no_network_is_wanted:
    """The reader is told that, and at once."""

    def writer(comm, fl, where):
        return write(comm, fl, where, network="off", rendezvous_timeout=5)

    def reader(comm, fl, where):
        begin = time.monotonic()
        with pytest.raises(fl.Error, match=r"another network namespace.*listens on no network"):
            fl.open(stream_name(where), **SHORT)
        return time.monotonic() - begin

    def check(jobs):
        jobs.start("writer")
        wait_until(lambda: list(jobs.where.glob("*.fluvial")))
        jobs.start("reader")
        assert jobs.outcome("reader").values[0] < 5
        jobs["writer"].kill()


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
    assert time.monotonic() - killed < 5
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
    """Nothing is lost, and nobody is told."""
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


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_writer_that_computes_while_data_is_read:
    """Its service thread sends: a read takes nothing like the writer's two seconds."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **SHORT) as series:
            with series.step() as step:
                step.put("x", np.ones(8_000_000))
            end = time.monotonic() + 4
            while time.monotonic() < end:
                sum(range(1000))

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            step = series.next()
            begin = time.monotonic()
            assert step["x"].read().sum() == 8_000_000
            return time.monotonic() - begin

    def check(jobs):
        (took,) = jobs.finish()["reader"]
        assert took < 2


test_writers_on_two_hosts = selections(
    "test_writers_on_two_hosts", "writer on 4 ranks of hosts 1-2, reader on 2 ranks of host 3", 4
)
test_everybody_everywhere = selections(
    "test_everybody_everywhere", "writer on 4 ranks of hosts 1-2, reader on 4 ranks of hosts 2-3", 4
)


@scenario(
    "writer on 4 ranks of hosts 1-2, reader on 1 process of host 3", writer=write, reader=read
)
def test_a_killed_rank_of_a_writer_on_two_hosts(jobs):
    """Each host learns it from the other."""
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
        try:
            with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series:
                for index in range(200):
                    if comm.rank == 1 and index == 20:
                        raise RuntimeError("the mesh is tangled")
                    with series.step() as step:
                        step.put("x", np.full(10, index), offset=(10 * comm.rank,), shape=(20,))
                    time.sleep(0.005)
        except (fl.Error, RuntimeError) as error:
            return type(error).__name__, str(error)

    def reader(comm, fl, where):
        return read(comm, fl, where)

    def check(jobs):
        results = jobs.finish()
        assert results["writer"][1] == ("RuntimeError", "the mesh is tangled")
        kind, message = results["writer"][0]
        assert kind == "PeerLost"
        assert "the mesh is tangled" in message
        kind, message = results["reader"][0]["error"]
        assert kind == "PeerLost"
        assert "the mesh is tangled" in message
        assert results["reader"][0]["seen"] == list(range(20))


@scenario("writer on 2 ranks of hosts 1-2, reader on 1 process of host 1")
class test_a_rank_that_closes_early_on_one_host:
    """All ranks must write the same steps; those that wrote more are told."""

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


@scenario("writer on 2 ranks of hosts 1-2", timeout=30)
class test_what_a_writer_on_two_hosts_cannot_do:
    """It is told on every rank, with what is allowed."""

    def writer(comm, fl, where):
        said = []
        for options in ({"retain": str(where)}, {"steps_to": "on-demand"}, {"network": "off"}):
            with pytest.raises(fl.InvalidArgument) as caught:
                fl.open(stream_name(where), "w", comm=comm, readers=0, **SHORT, **options)
            said.append("1 of 2 ranks on this one" in str(caught.value))
        return all(said)

    def check(jobs):
        assert jobs.finish()["writer"] == [True, True]


@scenario("writer on 2 ranks of hosts 1-2, reader on 2 ranks of hosts 1-2")
class test_chunks_stay_on_their_hosts:
    """The strategy by host gives each reader what lies beside it: nothing goes over the network."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=10, pause=0)

    def reader(comm, fl, where):
        total = 0
        with fl.open(stream_name(where), comm=comm, **SHORT) as series:
            for step in series:
                for piece in step.mine("by-host(hyperslabs)")["x"]:
                    total += int(step["x"][piece.selection].sum())
            return total, series.stats["bytes_received"]

    def check(jobs):
        results = jobs.finish()["reader"]
        assert [total for total, _ in results] == [1000 * sum(range(10))] * 2
        assert [received for _, received in results] == [0, 0]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_contact_that_is_passed_as_text:
    """No folder is shared; what is no contact is refused by name."""

    def writer(comm, fl, where):
        private = where / "private"
        private.mkdir(mode=0o700)
        with fl.open(stream_name(where), "w", directory=private, readers=0, **SHORT) as series:
            (where / "text").write_text(series.contact)
            wait_until((where / "attached").exists, timeout=30)
            with series.step() as step:
                step.put("x", np.arange(5))

    def reader(comm, fl, where):
        wait_until(lambda: (where / "text").exists() and (where / "text").read_text(), timeout=30)
        text = (where / "text").read_text()
        for wrong in ("garbage", text[:60], text.replace("key=", "key=zz")):
            with pytest.raises(fl.InvalidArgument, match=r"contact|key"):
                fl.open(stream_name(where), contact=wrong, **SHORT)
        with fl.open(stream_name(where), contact=text, **SHORT) as series:
            (where / "attached").touch()
            return series.next()["x"].read().tolist()

    def check(jobs):
        assert jobs.finish()["reader"] == [[0, 1, 2, 3, 4]]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_strangers_in_the_network:
    """A thousand that say nothing, or anything, keep no reader from attaching."""

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
    stranger.settimeout(0.001)
    try:
        return stranger.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
