# SPDX-License-Identifier: Apache-2.0
"""Two hosts that several networks join, of which a series uses all at a time."""

import time

import numpy as np
import pytest
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario, wait_until
from harness.box import NoBox
from harness.rails import RAILS, join_by_networks, set_bandwidth

PACE = 25e6
"""Bytes per second of a cable: 200 Mbit/s, of which two cores feed three."""
NUMBERS = 4_000_000
"""Of 8 bytes in a step."""


def three_networks(box):
    try:
        join_by_networks(box, PACE)
    except NoBox as error:
        pytest.skip(str(error))


def values(step):
    return np.random.default_rng(step).random(NUMBERS)


def write(comm, fl, where, steps=3, **options):
    with fl.open(stream_name(where), "w", **{**SHORT, "stall_timeout": 8, **options}) as series:
        for index in range(steps):
            with series.step() as step:
                step.put("x", values(index))


def read(comm, fl, where, mark=None, **options):
    """Read all steps; return what each interface brought, and how long each step took."""
    seconds = []
    with fl.open(stream_name(where), **{**SHORT, "stall_timeout": 8, **options}) as series:
        for index, step in enumerate(series):
            if mark:
                (where / f"{mark}-{index}").touch()
            begun = time.monotonic()
            assert (step["x"].read() == values(index)).all()
            seconds.append(time.monotonic() - begun)
        stats = series.stats
    assert stats["bytes_received"] == 8 * NUMBERS * len(seconds)
    return stats["bytes_by_interface"], seconds


def shares(by_interface):
    total = sum(by_interface.values())
    return [by_interface.get(device, 0) / total for device in RAILS]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_data_over_three_networks(jobs):
    three_networks(jobs.box)
    jobs.start("writer")
    jobs.start("reader")
    ((by_interface, _),) = jobs.finish()["reader"]
    assert sorted(by_interface) == list(RAILS)
    assert sum(by_interface.values()) >= 3 * 8 * NUMBERS
    assert min(shares(by_interface)) > 0.05
    for device in RAILS:
        assert jobs.box.sent_bytes(1, device) >= by_interface[device]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_interfaces_that_are_chosen(jobs):
    """One at a time, or some by name; the environment says the same."""
    three_networks(jobs.box)
    for options, used in [
        ({"interfaces": "one"}, 1),
        ({"interfaces": "eth2,10.81.0.0/16"}, 2),
        ({"interfaces": "10.82.0.2"}, 1),
    ]:
        jobs.start("writer", steps=2)
        jobs.start("reader", **options)
        ((by_interface, _),) = jobs.finish()["reader"]
        assert len(by_interface) == used
        assert (used == 1 and options["interfaces"] == "one") or "eth0" not in by_interface


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_interfaces_that_lead_nowhere:
    def writer(comm, fl, where):
        write(comm, fl, where, steps=1)

    def reader(comm, fl, where):
        (where / "opens").touch()
        for chosen, said in [("ib0", "eth0 (10.77.0.2/24)"), ("lo", "10.77.0.1:")]:
            with pytest.raises(fl.InvalidArgument) as caught:
                fl.open(stream_name(where), interfaces=chosen, **SHORT)
            assert f"'{chosen}'" in str(caught.value)
            assert said in str(caught.value)
        return read(comm, fl, where)

    def check(jobs):
        jobs.start("writer", "reader")
        jobs.finish()


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_encrypted_data_over_three_networks(jobs):
    three_networks(jobs.box)
    jobs.start("writer", encrypt=True)
    jobs.start("reader")
    ((by_interface, _),) = jobs.finish()["reader"]
    assert min(shares(by_interface)) > 0.05


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_network_that_is_slower(jobs):
    """It brings less: as much as it can while the others bring the rest."""
    three_networks(jobs.box)
    set_bandwidth(jobs.box, "eth1", PACE / 4)
    jobs.start("writer")
    jobs.start("reader")
    ((by_interface, _),) = jobs.finish()["reader"]
    first, slow, third = shares(by_interface)
    assert 0.03 < slow < 0.2
    assert min(first, third) > 2 * slow


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_a_network_that_is_cut_in_the_middle(jobs):
    """Whichever it is: the data is whole, no step is lost, and it is used again once it is back."""
    three_networks(jobs.box)
    for cut in ("eth2", "eth0"):
        jobs.start("writer", steps=20)
        jobs.start("reader", mark=cut)
        wait_until((jobs.where / f"{cut}-3").exists, timeout=60)
        time.sleep(0.1)
        jobs.box.unplug(1, cut)
        wait_until((jobs.where / f"{cut}-8").exists, timeout=60)
        jobs.box.plug_in(1, cut)
        before = jobs.box.sent_bytes(1, cut)
        ((by_interface, seconds),) = jobs.finish()["reader"]
        assert len(seconds) == 20
        assert min(shares(by_interface)) > 0.05
        assert jobs.box.sent_bytes(1, cut) - before > 10_000_000


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", writer=write, reader=read)
def test_addresses_that_are_no_network_of_their_own(jobs):
    """A second address of an interface, a bridge on each host, and a second interface of the
    reader's that leads to the same one of the writer's carry nothing."""
    box = jobs.box
    for number in (1, 2):
        box.ip("-n", box.name(number), "addr", "add", f"10.90.0.{number}/24", "dev", "eth0")
        box.ip("-n", box.name(number), "link", "add", "docker0", "type", "bridge")
        box.ip("-n", box.name(number), "addr", "add", "172.17.0.1/16", "dev", "docker0")
        box.ip("-n", box.name(number), "link", "set", "docker0", "up")
    box.add_interface(2, "eth1", "10.91.0.2")
    box.ip("-n", box.name(1), "addr", "add", "10.91.0.1/24", "dev", "eth0")
    jobs.start("writer", steps=4)
    jobs.start("reader")
    ((by_interface, _),) = jobs.finish()["reader"]
    assert sum(by_interface.values()) >= 4 * 8 * NUMBERS
    assert sum(count > 100_000 for count in by_interface.values()) == 1


@scenario("writer on 2 ranks of hosts 1-2, reader on 2 ranks of host 3")
class test_a_writer_on_two_hosts_and_two_readers:
    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series:
            for index in range(2):
                with series.step() as step:
                    mine = values(2 * index + comm.rank)
                    step.put("x", mine, offset=(comm.rank * NUMBERS,), shape=(2 * NUMBERS,))

    def reader(comm, fl, where):
        with fl.open(stream_name(where), comm=comm, **SHORT) as series:
            for index, step in enumerate(series):
                for rank in range(2):
                    got = step["x"][rank * NUMBERS : (rank + 1) * NUMBERS]
                    assert (got == values(2 * index + rank)).all()
            return series.stats["bytes_by_interface"]

    def check(jobs):
        three_networks(jobs.box)
        jobs.start("writer", "reader")
        for by_interface in jobs.finish()["reader"]:
            assert min(shares(by_interface)) > 0.05
