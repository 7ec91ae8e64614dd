# SPDX-License-Identifier: Apache-2.0
"""The results of `fluvial route measure` for cables and switches whose speed is known.

A cable of so many bytes per second carries TCP's headers and acknowledgements, too, and a shaped
one lets a first burst pass; and all hosts share the cores of one machine. So results may be a
quarter off.
"""

import json
import os
import signal

import pytest
from harness import command, scenario, wait_until, write_whole
from harness.box import NoBox
from harness.fabric import Fabric, shape_port

import fluvial as fl

_PACE = 12.5e6  # bytes per second: 100 Mbit/s
_TOLERANCE = 0.25


def close_to(found, expected):
    return abs(found / expected - 1) < _TOLERANCE


def measure(comm, fl, where, seconds=0.4):
    found = fl.route.measure(comm, seconds=seconds)
    return found, found.kind, found.to_json()


def command_of(comm, fl, where, **options):
    """Run `fluvial route measure` on all ranks of the job; return what the first one printed."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    out = where / "cluster.json"
    return command.call("route", "measure", *words, "--no-progress", "--out", out)


def mesh(jobs):
    names = [jobs.box.name(number + 1) for number in range(jobs.box.hosts)]
    links = [{"from": a, "to": b, "bandwidth": _PACE} for a in names for b in names if a < b]
    path = jobs.where / "mesh.json"
    path.write_text(json.dumps({"hosts": names, "links": links}))
    try:
        return names, Fabric(jobs.box, fl.route.topology(path))
    except NoBox as error:
        pytest.skip(str(error))


@scenario("job on 4 ranks of hosts 1-4", job=measure, timeout=120)
def test_a_mesh_with_a_slow_cable(jobs):
    names, fabric = mesh(jobs)
    fabric.set_bandwidth(0, 2, _PACE / 4)
    jobs.start("job")
    for found, kind, text in jobs.finish()["job"]:
        assert found.hosts == tuple(names)
        assert kind == "mesh"
        for a in range(4):
            for b in range(4):
                pace = _PACE / 4 if (a, b) == (0, 2) else _PACE
                assert a == b or close_to(found.bandwidth[a, b], pace), (a, b, found)
                assert a == b or 0 < found.latency[a, b] < 0.02
        assert close_to(found.sending[1], 3 * _PACE), found
        path = jobs.where / "found.json"
        path.write_text(text)
    net = fl.route.topology(path)
    assert (net.hosts, net.nodes, len(net.links)) == (4, 4, 12)
    assert net.host_of_rank == (0, 1, 2, 3)
    plan = fl.route.plan(net, [(names[0], names[1])])
    assert len(plan.paths[0]) == 3
    assert 2 < plan.speed_up < 3


@scenario("job on 3 ranks of hosts 1-3", job=command_of, timeout=120)
def test_hosts_with_one_cable_into_a_switch(jobs):
    paces = (_PACE, _PACE, _PACE / 2)
    try:
        for number, pace in enumerate(paces, start=1):
            shape_port(jobs.box, number, pace)
    except NoBox as error:
        pytest.skip(str(error))
    jobs.start("job", seconds=0.4, format="json")
    results = jobs.finish()["job"]
    assert [(code, err) for code, _, err in results] == [(0, "")] * 3
    assert [out for _, out, _ in results[1:]] == ["", ""]
    said = json.loads(results[0][1])
    assert said["name"].endswith("cluster.json: switch of 3 hosts")
    assert len(said["rows"]) == 6 + 6
    net = fl.route.topology(jobs.where / "cluster.json")
    assert (net.hosts, net.nodes, len(net.links)) == (3, 4, 6)
    for link in net.links:
        assert close_to(link.bandwidth, paces[min(link.source, link.target)]), net.links
    # No path by way of another host is better than the one cable.
    assert fl.route.plan(net, [(0, 1)]).planner == "direct"


def measure_or_say(comm, fl, where):
    """Tell how the call ended, and stay: MPI_Finalize would wait for the rank that is stopped."""
    try:
        fl.route.measure(comm, seconds=0.05, timeout=1.0)
        said = "done"
    except fl.TimedOut as error:
        said = str(error)
    write_whole(where / f"said-{comm.rank}", said)
    signal.pause()


@scenario("job on 3 ranks of hosts 1-3", job=measure_or_say, timeout=60)
def test_a_host_that_is_stopped_is_an_error_in_time(jobs):
    _, fabric = mesh(jobs)
    jobs.start("job")
    wait_until(lambda: fabric.carried(0, 1) > 500_000)
    os.kill(jobs["job"].pid(2), signal.SIGSTOP)
    for rank in (0, 1):
        said = jobs.where / f"said-{rank}"
        wait_until(said.exists, timeout=30, what=f"the end on rank {rank}")
        assert "a host has not answered" in said.read_text()
    jobs["job"].kill()
