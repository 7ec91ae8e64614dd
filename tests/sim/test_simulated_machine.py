# SPDX-License-Identifier: Apache-2.0
"""Multipath transfers on the torus of 512 hosts of Bui et al. 2016, in simulated time."""

import fcntl

import pytest
from harness import simulated
from harness.simulated import PAMI, Flow, Machine, NoSimulator, Software

import fluvial as fl

TORUS = "bgq:4x4x4x4x2"
KiB, MiB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True, scope="module")
def simulator():
    simulated.ROOT.joinpath(".build").mkdir(exist_ok=True)
    with open(simulated.ROOT / ".build" / "sim.lock", "w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            simulated.build()
        except NoSimulator as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def paths():
    """The nine paths from host 0 to host 426: the network's own, six by one proxy, two by two."""
    found = fl.route.plan(TORUS, [(0, 426)]).paths[0]
    return tuple(path.stops for path in sorted(found, key=lambda path: len(path.proxies)))


def test_nine_paths_and_one_proxy_between_two_hosts(paths):
    machine = Machine(TORUS)
    direct = machine.add_messages([Flow(0, 426, MiB)])
    nine = machine.add([Flow(0, 426, MiB, 16 * KiB, paths)])
    proxy = machine.add([Flow(0, 426, MiB, 8 * KiB, paths[1:2])])
    whole = machine.add([Flow(0, 426, MiB, MiB, paths[1:2])])
    long = machine.add_messages([Flow(0, 426, 16 * MiB)])
    nine_of_long = machine.add([Flow(0, 426, 16 * MiB, 32 * KiB, paths)])
    seconds = machine.seconds()
    assert seconds[direct] == pytest.approx(MiB / 1.8e9, rel=0.02)
    assert seconds[direct] / seconds[nine] > 5
    assert seconds[direct] / seconds[proxy] > 0.95
    assert seconds[direct] / seconds[whole] == pytest.approx(0.5, abs=0.02)
    assert seconds[long] / seconds[nine_of_long] > 8


def test_flows_that_cross_are_whole_and_need_no_turn():
    """Hosts are sources, destinations and proxies at once; every byte is compared."""
    flows = [(0, 426), (426, 0), (2, 386), (10, 42), (42, 10), (386, 2)]
    plan = fl.route.plan(TORUS, flows)
    machine = Machine(TORUS, PAMI)
    machine.add(
        [
            Flow(source, target, 100_000 * i, 4 * KiB, tuple(path.stops for path in paths))
            for i, ((source, target), paths) in enumerate(zip(flows, plan.paths, strict=True))
        ]
    )
    assert 0 < machine.seconds()[0] < 500_000 / 1.8e9


def test_small_messages_go_direct_and_lose_nothing(paths):
    machine = Machine(TORUS, Software("slow", 5e-6))
    pairs = [
        (machine.add_messages([Flow(0, 426, size)]), machine.add([Flow(0, 426, size)]))
        for size in (0, 1, KiB, 8 * KiB)
    ]
    seconds = machine.seconds()
    assert [seconds[plain] / seconds[ours] for plain, ours in pairs] == pytest.approx(
        [1] * len(pairs), abs=0.02
    )


def test_a_slow_link_carries_less_and_holds_up_no_other():
    """One link has a quarter of its speed, of which the plan knows nothing."""
    names = [str(host) for host in range(6)]
    links = ", ".join(
        f'{{"from": "{a}", "to": "{b}", "latency": 4e-8, '
        f'"bandwidth": {0.45e9 if (a, b) == ("0", "2") else 1.8e9}}}'
        for a in names
        for b in names
        if a < b
    )
    hosts = ", ".join(f'"{name}"' for name in names)
    machine = Machine(f'{{"hosts": [{hosts}], "links": [{links}]}}')
    direct = machine.add_messages([Flow(0, 1, 16 * MiB)])
    five = [(0, 1), *((0, proxy, 1) for proxy in range(2, 6))]
    ours = machine.add([Flow(0, 1, 16 * MiB, 32 * KiB, tuple(five))])
    seconds = machine.seconds()
    assert seconds[direct] / seconds[ours] > 3.7  # 4.25 is the sum of the links
