# SPDX-License-Identifier: Apache-2.0
"""Data along paths between hosts that are joined by cables of their own, in a cluster in a box."""

import hashlib
import json
import os
import pathlib
import signal
import warnings

import numpy as np
import pytest
from harness import scenario, wait_until, write_whole
from harness.box import NoBox
from harness.fabric import Fabric

import fluvial as fl

_PACE = 12.5e6  # bytes per second of a cable: 100 Mbit/s
_CALM = _PACE / 8  # so slow that no proxy has to wait for a core for as long as a part takes
_LONG = 10_000_000  # bytes
TORUS = f"torus:3x3,bandwidth={_PACE}"


def mesh(jobs, pace=_PACE):
    """Each host has a cable to each other one."""
    names = [jobs.box.name(number + 1) for number in range(jobs.box.hosts)]
    links = [{"from": a, "to": b, "bandwidth": pace} for a in names for b in names if a < b]
    path = jobs.where / "mesh.json"
    path.write_text(json.dumps({"hosts": names, "links": links}))
    return str(path)


def cables(jobs, text):
    try:
        return Fabric(jobs.box, fl.route.topology(text))
    except NoBox as error:
        pytest.skip(str(error))


def data_of(flow, size):
    return np.random.default_rng(flow).integers(0, 256, size, np.uint8)


def digest(array):
    return hashlib.sha256(np.asarray(array).tobytes()).hexdigest()


def move(comm, fl, where, topology, flows, sizes, **options):
    """Return digests of what came on this rank, by flow."""
    plan = fl.route.plan(topology, flows)
    rank_of = plan.topology.host_of_rank.index
    data = {i: data_of(i, sizes[i]) for i, (a, _) in enumerate(flows) if rank_of(a) == comm.rank}
    return {i: digest(a) for i, a in fl.route.exchange(comm, plan, data, **options).items()}


def expected(flows, sizes, ranks):
    return [
        {i: digest(data_of(i, sizes[i])) for i, (_, b) in enumerate(flows) if b == rank}
        for rank in range(ranks)
    ]


@scenario("job on 6 ranks of hosts 1-6", job=move)
def test_five_paths_of_a_mesh(jobs):
    """Every cable of the plan carries a part, by way of each of the four other hosts."""
    topology, size = mesh(jobs, _CALM), 2_000_000
    fabric = cables(jobs, topology)
    jobs.start("job", topology=topology, flows=[(0, 1)], sizes=[size], paths=5, window=16384)
    assert jobs.finish()["job"] == expected([(0, 1)], [size], 6)
    first = [fabric.carried(0, other) for other in range(1, 6)]
    last = [fabric.carried(other, 1) for other in (0, 2, 3, 4, 5)]
    assert min(first + last) > size // 16  # a fifth, less what others did while it had no core
    assert max(first + last) < size // 2
    assert sum(first) < size * 1.2


@scenario("job on 9 ranks of hosts 1-9", job=move)
def test_flows_that_cross_on_a_torus(jobs):
    """All hosts are sources, destinations and proxies; sizes differ, and one flow has nothing."""
    fabric = cables(jobs, TORUS)
    flows = [(0, 1), (1, 0), (4, 8), (8, 4), (2, 6), (3, 5), (5, 7), (7, 3), (6, 2), (2, 2)]
    sizes = [400_000, 300_001, 5, 200_000, 0, 150_000, 8192, 8193, 100_000, 7]
    jobs.start("job", topology=TORUS, flows=flows, sizes=sizes, paths=4, window=4096)
    assert jobs.finish()["job"] == expected(flows, sizes, 9)
    # Not by any way around the cables: all data left by some of them.
    sent = sum(fabric.carried(link.source, link.target) for link in fabric.topology.links)
    assert sent > sum(sizes)


@scenario("job on 9 ranks of hosts 1-9", job=move)
def test_four_paths_of_a_torus(jobs):
    """Between neighbours of a torus: a cable from one to the other, and three ways around."""
    torus = f"torus:3x3,bandwidth={_CALM}"
    fabric, size = cables(jobs, torus), 2_000_000
    jobs.start("job", topology=torus, flows=[(0, 1)], sizes=[size], paths=4, window=16384)
    assert jobs.finish()["job"] == expected([(0, 1)], [size], 9)
    parts = [fabric.carried(0, other) for other in (1, 2, 3, 6)]
    assert min(parts) > size // 16  # a quarter, less what others did while it had no core
    assert sum(parts) < size * 1.2


@scenario("job on 4 ranks of hosts 1-4", job=move)
def test_a_slow_cable_carries_less(jobs):
    """And the flow is whole, though the plan took the cable for one like the others."""
    topology, size = mesh(jobs, _CALM), 2_000_000
    fabric = cables(jobs, topology)
    fabric.set_bandwidth(0, 2, _CALM / 8)
    jobs.start("job", topology=topology, flows=[(0, 1)], sizes=[size], paths=3, window=16384)
    assert jobs.finish()["job"] == expected([(0, 1)], [size], 4)
    direct, slow, other = (fabric.carried(0, host) for host in (1, 2, 3))
    assert slow < min(direct, other) / 2


def move_or_say(comm, fl, where, **arguments):
    """Tell how the call ended, and stay: MPI_Finalize would wait for ranks that are cut off."""
    try:
        said = f"has come: {sorted(move(comm, fl, where, **arguments).items())}"
    except fl.TimedOut as error:
        said = f"TimedOut: {error}"
    write_whole(where / f"said-{comm.rank}", said)
    signal.pause()


def said_by(jobs, rank):
    said = jobs.where / f"said-{rank}"
    wait_until(said.exists, timeout=60, what=f"the end on rank {rank}")
    return said.read_text()


def move_in_place(comm, fl, where, topology, flows, sizes):
    """Refused, then direct; and where the ranks are."""
    net = fl.route.topology(topology)
    try:
        move(comm, fl, where, net, flows, sizes, paths=3, strict=True)
    except fl.InvalidArgument as error:
        said = str(error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        direct = move(comm, fl, where, net, flows, sizes, paths=3)
    return said, direct, net.placed(comm).host_of_rank


@scenario("job on 4 ranks of hosts 1-4", job=move_in_place)
def test_ranks_on_other_hosts_than_the_topology_says(jobs):
    path = pathlib.Path(mesh(jobs))
    fabric, size = cables(jobs, str(path)), 300_000
    said = json.loads(path.read_text())
    names = said["hosts"]
    path.write_text(json.dumps({**said, "ranks": [names[1], names[0], *names[2:]]}))
    jobs.start("job", topology=str(path), flows=[(0, 1)], sizes=[size])
    for rank, (message, direct, hosts) in enumerate(jobs.finish()["job"]):
        assert f"rank 0 on '{names[0]}' and not on '{names[1]}', and 1 more" in message
        assert direct == ({0: digest(data_of(0, size))} if rank == 0 else {})
        assert hosts == (0, 1, 2, 3)
    # Host 0 of the topology is rank 1, which runs on host 1.
    assert fabric.carried(1, 0) > size
    assert fabric.carried(1, 2) < size / 2


def begin(jobs, paths, **limits):
    """Start a flow that takes seconds on its slow cables; return those."""
    topology = mesh(jobs, 4e6)
    fabric = cables(jobs, topology)
    limits |= {"paths": paths, "window": 16384}
    jobs.start("job", topology=topology, flows=[(0, 1)], sizes=[_LONG], **limits)
    return fabric


@scenario("job on 3 ranks of hosts 1-3", job=move_or_say)
def test_a_cable_of_a_proxy_that_is_cut_costs_its_path(jobs):
    fabric = begin(jobs, 2, stall_timeout=20, reroute_after=1)
    wait_until(lambda: fabric.carried(2, 1) > 200_000)
    fabric.cut(2, 1)
    for rank, came in enumerate(expected([(0, 1)], [_LONG], 3)):
        assert said_by(jobs, rank) == f"has come: {sorted(came.items())}"
    jobs["job"].kill()


@scenario("job on 3 ranks of hosts 1-3", job=move_or_say)
def test_a_cable_between_the_ends_that_is_cut_is_an_error_in_time(jobs):
    fabric = begin(jobs, 2, stall_timeout=1.5)
    wait_until(lambda: fabric.carried(0, 1) > 200_000)
    fabric.cut(0, 1)
    for rank in (0, 1):
        assert "has not moved on: got for 1.5 s" in said_by(jobs, rank)
    jobs["job"].kill()


@scenario("job on 4 ranks of hosts 1-4", job=move_or_say)
def test_a_stopped_proxy_costs_its_path(jobs):
    fabric = begin(jobs, 3, stall_timeout=20, reroute_after=1)
    wait_until(lambda: fabric.carried(2, 1) > 200_000)
    os.kill(jobs["job"].pid(2), signal.SIGSTOP)
    came = expected([(0, 1)], [_LONG], 4)
    for rank in (0, 1, 3):
        assert said_by(jobs, rank) == f"has come: {sorted(came[rank].items())}"
    # It gets the error, and does not take the others for lost because it was stopped.
    os.kill(jobs["job"].pid(2), signal.SIGCONT)
    assert said_by(jobs, 2) == "has come: []"
    jobs["job"].kill()


@scenario("job on 4 ranks of hosts 1-4", job=move_or_say)
def test_a_stopped_destination_is_an_error_in_time(jobs):
    fabric = begin(jobs, 3, stall_timeout=1.5)
    wait_until(lambda: fabric.carried(2, 1) > 200_000)
    os.kill(jobs["job"].pid(1), signal.SIGSTOP)
    for rank in (0, 2, 3):
        assert "has not moved on" in said_by(jobs, rank)
    jobs["job"].kill()
