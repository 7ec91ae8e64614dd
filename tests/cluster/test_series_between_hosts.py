# SPDX-License-Identifier: Apache-2.0
"""A writer on one host, readers on others and on its own, over a network in a box."""

import os
import signal
import time

import numpy as np
import pytest
from faults.roles import SHORT, write
from faults.traces import stream_name
from harness import scenario, wait_until, write_whole
from two_jobs import test_any_selection as any_selection

# Where the cores are busy for long.
PATIENT = {**SHORT, "stall_timeout": 5}


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
    """The elements are encrypted, too, which otherwise travel in the clear."""

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
        assert took < 3.5  # the writer computes for 4 s


test_writers_on_two_hosts = selections(
    "test_writers_on_two_hosts", "writer on 4 ranks of hosts 1-2, reader on 2 ranks of host 3", 4
)
test_everybody_everywhere = selections(
    "test_everybody_everywhere", "writer on 4 ranks of hosts 1-2, reader on 4 ranks of hosts 2-3", 4
)


@scenario("writer on 2 ranks of hosts 1-2", timeout=30)
class test_what_a_writer_on_two_hosts_cannot_do:
    """It is told on every rank, with what is allowed."""

    def writer(comm, fl, where):
        said = []
        for options in ({"network": "off"},):
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
            write_whole(where / "text", series.contact)
            wait_until((where / "attached").exists, timeout=30)
            with series.step() as step:
                step.put("x", np.arange(5))

    def reader(comm, fl, where):
        wait_until((where / "text").exists, timeout=30)
        text = (where / "text").read_text()
        for wrong in ("", "garbage", text[:60], text.replace("key=", "key=zz")):
            with pytest.raises(fl.InvalidArgument, match=r"contact|key"):
                fl.open(stream_name(where), contact=wrong, **SHORT)
        with_returns = text.replace("\n", "\r\n")
        with fl.open(stream_name(where), contact=with_returns, **SHORT) as series:
            (where / "attached").touch()
            return series.next()["x"].read().tolist()

    def check(jobs):
        assert jobs.finish()["reader"] == [[0, 1, 2, 3, 4]]


ROWS, COLUMNS = 256, 512
PLANS = [np.s_[:, :], np.s_[:, 3:40], np.s_[::2, :], np.s_[100:101, :], None, np.s_[:, :]]


def plane(index):
    """Return what is written in a step: another array in each."""
    return np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) + 0.25 * index


@scenario("writer on 2 ranks of host 1, reader on 1 process of host 2")
class test_readers_that_change_their_minds:
    """Parts that were read before come with the message; a read gives what was asked for."""

    def writer(comm, fl, where, encrypt):
        with fl.open(stream_name(where), "w", comm=comm, encrypt=encrypt, **SHORT) as series:
            for index in range(6 * len(PLANS)):
                # The ranks' shares change in the middle, and so do the chunks.
                cut = 64 if index < 3 * len(PLANS) else 200
                mine = slice(0, cut) if comm.rank == 0 else slice(cut, ROWS)
                with series.step() as step:
                    part = plane(index)[mine]
                    step.put("x", part, offset=(mine.start, 0), shape=(ROWS, COLUMNS))
                    if index % 5 == 0:
                        step.put("a", np.full(10, index), offset=(10 * comm.rank,), shape=(20,))

    def reader(comm, fl, where):
        right = 0
        with fl.open(stream_name(where), comm=comm, **SHORT) as series:
            for step in series:
                plan = PLANS[step.index // 6]
                if plan is not None:
                    np.testing.assert_array_equal(step["x"][plan], plane(step.index)[plan])
                if "a" in step:
                    assert step["a"].read().tolist() == [step.index] * 20
                right += 1
        return right

    def check(jobs):
        for encrypt in (False, True):
            jobs.start("writer", encrypt=encrypt)
            jobs.start("reader")
            assert jobs.finish()["reader"] == [6 * len(PLANS)]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_what_came_along_needs_no_writer:
    """A reader that read all of a step before has all of this one, also if the writer stands."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **SHORT) as series:
            for index in range(12):
                with series.step() as step:
                    step.put("x", np.full((ROWS, COLUMNS), index))

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            for step in series:
                if step.index == 8:
                    (where / "has-8").mkdir()
                    wait_until((where / "stands").exists, timeout=30)
                assert float(step["x"].read().sum()) == ROWS * COLUMNS * step.index
                if step.index == 8:
                    (where / "read-8").mkdir()
        return step.index

    def check(jobs):
        jobs.start("writer")
        jobs.start("reader")
        wait_until((jobs.where / "has-8").exists, timeout=30)
        time.sleep(0.2)
        os.kill(jobs["writer"].pid(0), signal.SIGSTOP)
        (jobs.where / "stands").mkdir()
        try:
            wait_until((jobs.where / "read-8").exists, timeout=12)
        finally:
            os.kill(jobs["writer"].pid(0), signal.SIGCONT)
        assert jobs.finish()["reader"] == [11]


def selections_by_libfabric(comm, fl, where, seed, writers):
    os.environ["FLUVIAL_TRANSPORT"] = "libfabric:tcp;ofi_rxm"
    return any_selection.read(comm, fl, where, seed, writers)


@scenario(
    "writer on 2 ranks of host 1, reader on 2 ranks of host 2",
    writer=any_selection.write,
    reader=selections_by_libfabric,
)
def test_libfabric(jobs, seed):
    """Any selection; the data crosses the network, and no other transport is taken instead."""
    jobs.start("writer", seed=seed)
    jobs.start("reader", seed=seed, writers=2)
    results = jobs.finish()
    for compared, read_steps, *_ in results["reader"]:
        assert (compared, read_steps) == (any_selection.STEPS * 13 * 7, any_selection.STEPS)
    assert jobs.box.sent_bytes(1) > 20_000


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_libfabric_while_the_writer_computes:
    """A thread of its host moves the reads on; a failure is named, on whichever side it happens."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **PATIENT) as series:
            with series.step() as step:
                step.put("x", np.arange(8_000_000.0).reshape(8, -1))
            end = time.monotonic() + 4
            while time.monotonic() < end:
                sum(range(1000))

    def reader(comm, fl, where):
        os.environ["FLUVIAL_LIBFABRIC"] = str(where / "none.so")
        with pytest.raises(fl.SystemError, match=r"none\.so.*FLUVIAL_LIBFABRIC"):
            fl.open(stream_name(where), transport="libfabric", **PATIENT)
        del os.environ["FLUVIAL_LIBFABRIC"]
        with pytest.raises(fl.SystemError, match=r"libfabric.*'pigeon'.*allowed.*'tcp;ofi_rxm'"):
            fl.open(stream_name(where), transport="libfabric:pigeon", **PATIENT)
        with fl.open(stream_name(where), transport="libfabric:tcp;ofi_rxm", **PATIENT) as series:
            step = series.next()
            begin = time.monotonic()
            assert step["x"].read().sum() == 8_000_000 * 7_999_999 / 2
            took = time.monotonic() - begin
            assert (step["x"][2:5, ::1000] == np.arange(8e6).reshape(8, -1)[2:5, ::1000]).all()
            return took, series.stats["transport"]

    def check(jobs):
        ((took, transport),) = jobs.finish()["reader"]
        assert transport == "libfabric tcp;ofi_rxm"
        assert took < 3.5  # the writer computes for 4 s


@scenario("job on 4 ranks of hosts 1-2")
class test_each_host_writes_a_file_of_its_own:
    """On a file system that both see; the third file joins theirs."""

    def job(comm, fl, where):
        path = str(where / "run.h5")
        field = np.arange(4 * 3000.0).reshape(4, 3000)
        mine = field[comm.rank : comm.rank + 1]
        with fl.open(path, "w", comm=comm, step_timeout=30, file_per="host") as series:
            for index in range(3):
                with series.step() as step:
                    step.put("x", mine + index, offset=(comm.rank, 0), shape=field.shape)
        comm.Barrier()
        with fl.open(path, comm=comm) as series:
            for index, step in enumerate(series):
                np.testing.assert_array_equal(step["x"].read(), field + index)
        return sorted(file.name for file in where.glob("run.h5*"))

    def check(jobs):
        names = ["run.h5", "run.h5.host0", "run.h5.host1"]
        assert jobs.finish()["job"] == [names] * 4


@scenario("job on 4 ranks of hosts 1-2")
class test_a_rank_of_each_host_writes_bp:
    """On a file system that both see, into one folder."""

    def job(comm, fl, where):
        path = str(where / "run.bp")
        field = np.arange(4 * 3000.0).reshape(4, 3000)
        mine = field[comm.rank : comm.rank + 1]
        with fl.open(path, "w", comm=comm, step_timeout=30) as series:
            for index in range(3):
                with series.step() as step:
                    step.put("x", mine + index, offset=(comm.rank, 0), shape=field.shape)
            written = series.stats["bytes"]
        comm.Barrier()
        with fl.open(path, comm=comm) as series:
            for index, step in enumerate(series):
                np.testing.assert_array_equal(step["x"].read(), field + index)
        return written

    def check(jobs):
        assert jobs.finish()["job"] == [2 * 3 * 3000 * 8, 0] * 2
