# SPDX-License-Identifier: Apache-2.0
"""Multipath transfers on the torus of 512 hosts of Bui et al. 2016, in simulated time."""

import fcntl

import pytest
from harness import simulated
from harness.simulated import PAMI, Flow, Machine, NoSimulator, Software, planned

import fluvial as fl

TORUS = "bgq:4x4x4x4x2"
KiB, MiB = 1 << 10, 1 << 20


pytestmark = pytest.mark.timeout(400)  # the first test builds the simulator


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


@pytest.mark.parametrize(
    "sources",
    [range(13), [2, 11, 30, 37, 55, 58, 60, 83, 90, 101, 104, 117, 126], range(0, 128, 4)],
    ids=["block", "scattered", "every fourth"],
)
def test_sparse_writes_fill_the_io_hosts_and_all_bytes_arrive(sources):
    """128 hosts with two I/O hosts, beside direct writes and collective I/O in two phases.

    The first phase gives each of 8 aggregators an equal part; the second takes no longer than two
    I/O hosts need. Aggregators that pass windows on while the next ones come are quicker still.
    """
    net = fl.route.topology("bgq:4x4x2x2x2,io=64,io-bandwidth=4e9")
    data = {host: 20_000 + 977 * (host * host % 811) for host in sources}
    limit_s = sum(data.values()) / 2 / 4e9
    machine = Machine(str(net))
    direct = machine.add_messages(
        [Flow(host, 128 + host // 64, size) for host, size in data.items()]
    )
    parts = [
        (source, aggregator, int(size))
        for source, aggregator, size in fl.route.balance_sinks(net, data, range(0, 128, 16))
    ]
    first_phase = machine.add_messages([Flow(*part) for part in parts if part[0] != part[1]])
    windows = []
    for source, aggregator, size in parts:
        sink = 128 + aggregator // 64
        stops = (source, sink) if source == aggregator else (source, aggregator, sink)
        windows.append(Flow(source, sink, size, 16 * KiB, (stops,)))
    overlapped = machine.add(windows)
    flows = planned(fl.route.plan(net, fl.route.balance_sinks(net, data, range(128, 130))), "pami")
    ours = machine.add(flows)
    taken = [sum(flow.bytes for flow in flows if flow.target == sink) for sink in (128, 129)]
    assert sum(taken) == sum(data.values())
    assert abs(taken[0] - taken[1]) <= 1
    seconds = machine.seconds()  # it would have raised had a byte been lost or changed
    assert seconds[ours] < seconds[first_phase] + limit_s
    assert seconds[ours] < 1.001 * seconds[overlapped]
    assert seconds[ours] < 1.1 * limit_s
    if len(data) == 13:
        assert seconds[direct] > 1.1 * seconds[ours]
