# SPDX-License-Identifier: Apache-2.0
"""Topologies, plans and maximum flows, from Python."""

import contextlib
import json
import os
import random
import threading

import numpy as np
import pytest

import fluvial as fl

MIB = 2**20


def test_a_topology_and_its_routes():
    net = fl.route.topology("bgq:4x4x4x4x2")
    assert (net.hosts, net.nodes, len(net.links)) == (512, 512, 512 * 9)
    assert net.route(0, 426) == (0, 384, 416, 424, 426)
    assert net.links[0].bandwidth == 1.8e9
    assert net.name(5) == "5" and net.host("5") == 5
    assert net.bandwidth_max(0, 426) == 9 * 1.8e9
    assert fl.route.topology(net) is net


def test_io_hosts_each_take_as_much_as_the_others():
    net = fl.route.topology("bgq:2x2x2x2x2,io=16,io-bandwidth=3e9")
    assert net.hosts == 34 and len(net.host_of_rank) == 32
    assert net.route(3, 33) == (3, 19, 17, 16, 33)
    flows = fl.route.balance_sinks(net, {"5": 10, 2: 0, 6: 5}, [32, "33"])
    assert flows == [(5, 32, 7.0), (5, 33, 3.0), (6, 33, 5.0)]
    assert fl.route.balance_sinks("torus:4x4", {}, 3) == []
    for data, sinks, said in [
        ({0: -1}, 32, "the bytes of a host"),
        ({0: 1.5}, 32, "the bytes of a host"),
        ({0: 1}, [], "no sink"),
        ({0: 1}, 34, "0 to 33"),
        ({40: 1}, 32, "0 to 33"),
    ]:
        with pytest.raises((fl.InvalidArgument, fl.WrongType), match=said):
            fl.route.balance_sinks(net, data, sinks)


def test_plans_of_several_flows():
    flows = [(0, 9), (9, 0, 5.0), (3, 3)]
    plan = fl.route.plan("torus:4x4", flows, paths_per_flow=3)
    assert [len(paths) for paths in plan.paths] == [3, 3, 0]
    for (source, target, _), paths in zip(plan.flows, plan.paths, strict=True):
        for path in paths:
            assert (path.stops[0], path.stops[-1]) == (source, target)
            assert (path.nodes[0], path.nodes[-1]) == (source, target)
            assert set(path.proxies) <= set(path.nodes)
            assert len(path.proxies) <= 2
    assert plan.speed_up == plan.direct_seconds / plan.seconds
    alone = fl.route.plan("torus:4x4", [(0, 9)], "direct")
    assert [path.stops for path in alone.paths[0]] == [(0, 9)]
    assert fl.route.plan("torus:4x4", []).speed_up == 1


def test_a_changed_plan_is_by_the_planner_that_was_asked_for():
    flows, others = [(0, 14), (3, 9)], [(3, 9), (5, 20)]
    for planner in ("direct", "disjoint", "min-max"):
        made = fl.route.plan("torus:6x6", flows, planner).changed(others)
        assert made.planner == planner
        assert made.changed(flows).planner == planner
    ring = "torus:5,routing=shortest"
    made = fl.route.plan(ring, [(4, 3, 1)]).changed([(4, 3, 1), (1, 4, 1e6), (4, 0, 1e6)])
    assert made.speed_up >= 1


def test_predictions_grow_with_the_message_and_never_fall_below_direct():
    plan = fl.route.plan("bgq:4x4x4x4x2", [(0, 426)])
    gains = [plan.predict(2**k, costs="pami").speed_up for k in range(35)]
    assert gains == sorted(gains)
    assert gains[13] == 1
    assert gains[20] > 5 and gains[27] > 8.7
    assert plan.predict(MIB, costs="tcp").window > plan.predict(MIB, costs="pami").window
    assert plan.predict(MIB, paths=1).speed_up <= 1
    assert plan.predict(16 * MIB, paths=9).window < MIB


def test_a_graph_in_a_file(tmp_path):
    path = tmp_path / "net.json"
    graph = {
        "hosts": ["a", "b", "c"],
        "links": [
            {"from": "a", "to": "b", "bandwidth": 1e9},
            {"from": "a", "to": "c", "bandwidth": 1e9},
            {"from": "c", "to": "b", "bandwidth": 1e9},
        ],
        "ranks": ["c", "c", "a", "b"],
    }
    path.write_text(json.dumps(graph))
    net = fl.route.topology(path)
    assert str(net) == "net.json"
    assert net.host_of_rank == (2, 2, 0, 1)
    plan = fl.route.plan(str(path), [("a", "b", 1e9)])
    assert [[net.name(n) for n in p.stops] for p in plan.paths[0]] == [["a", "b"], ["a", "c", "b"]]
    assert plan.speed_up == pytest.approx(2)
    path.write_text("SwitchName=s Nodes=n[1-3]\n")
    assert fl.route.topology(path).route("n1", "n3") == (0, 3, 2)


TORUS = fl.route.topology("torus:4")
EMPTY = fl.route.plan(TORUS, [])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fl.route.topology("tours:4"), fl.UnknownName, "Did you mean 'torus'"),
        (lambda: fl.route.topology("nowhere.json"), fl.NoSuchFile, "torus:…"),
        (lambda: fl.route.topology(4), fl.WrongType, "a text such as"),
        (lambda: fl.route.topology("torus:4x4").host(16), fl.OutOfBounds, "0 to 15"),
        (lambda: fl.route.topology("torus:4x4").host("16"), fl.UnknownName, "0 to 15"),
        (lambda: fl.route.topology("torus:4").name(4), fl.OutOfBounds, "0 to 3"),
        (lambda: fl.route.topology("torus:4").placed(None), fl.InvalidArgument, "have no names"),
        (lambda: fl.route.plan("torus:4", [(0, 4)]), fl.OutOfBounds, "0 to 3"),
        (lambda: fl.route.plan("torus:4", [(0,)]), fl.InvalidArgument, "source, target"),
        (lambda: fl.route.plan("torus:4", [(0, 1, -1)]), fl.InvalidArgument, "0 or more"),
        (lambda: fl.route.plan("torus:4", [(0, 1)], "bst"), fl.InvalidArgument, "min-max"),
        (
            lambda: fl.route.plan("torus:4", [(0, 1)], proxies_per_path=3),
            fl.InvalidArgument,
            "0 to 2",
        ),
        (
            lambda: fl.route.plan("torus:4", [(0, 1)]).predict(1, paths=3),
            fl.InvalidArgument,
            "1 to 2",
        ),
        (
            lambda: fl.route.plan("torus:4", [(0, 1)]).predict(1, costs="udp"),
            fl.UnknownName,
            "mpi, pami, tcp",
        ),
        (lambda: fl.route.max_flow(2, [(0, 2, 1)], 0, 1), fl.OutOfBounds, "0 to 1"),
        (lambda: fl.route.max_flow(2, [], 0, 0), fl.InvalidArgument, "a source and a sink"),
        (lambda: fl.route.max_flow(2, None, 0, 1), fl.WrongType, "arcs has a type.*a list of"),
        (lambda: fl.route.max_flow(2, 5, 0, 1), fl.WrongType, "arcs has a type.*a list of"),
        (lambda: fl.route.max_flow(0, [], 0, 1), fl.OutOfBounds, "the graph has no nodes"),
        (
            lambda: fl.route.max_flow(3, [(0, 1, 1e308)] * 2 + [(1, 2, 1e308)] * 2, 0, 2),
            fl.InvalidArgument,
            "a sum that is out of range",
        ),
        (lambda: EMPTY.predict(1), fl.InvalidArgument, "the plan has no flows"),
        (
            lambda: fl.route.exchange(None, EMPTY, {0: b"x"}),
            fl.InvalidArgument,
            "a flow in data is out of range: got 0; allowed: none, for the plan has no flows",
        ),
        (lambda: TORUS.host(2**70), fl.OutOfBounds, "got 1180591620717411303424; allowed: 0 to 3"),
        (lambda: TORUS.name(2**70), fl.OutOfBounds, "got 1180591620717411303424; allowed: 0 to 3"),
        (lambda: TORUS.host(0.0), fl.WrongType, "its number, an int, or its name, a str"),
        (
            lambda: fl.route.topology("torus:3x3,latency=1e308"),
            fl.InvalidArgument,
            "seconds, 0 to 1e6",
        ),
        (
            lambda: fl.route.topology("torus:3x3,bandwidth=1e308"),
            fl.InvalidArgument,
            "more than 0, up to 1e18",
        ),
    ],
)
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


ALONE = fl.route.plan("torus:4", [(0, 0)])


@pytest.mark.parametrize(
    "call",
    [
        lambda: fl.route.send(None, fl.route.plan("torus:4", [(0, 1)]), b"x", window_bytes=1),
        lambda: fl.route.begin(None, ALONE, {0: b"x"}, window_bytes=1).wait(),
        lambda: fl.route.Tuner(ALONE).exchange(None, {0: b"x"}, window_bytes=1),
        lambda: fl.route.HelperRanks(None, helps=False).exchange(ALONE, {0: b"x"}, window_bytes=1),
    ],
)
def test_an_option_that_is_not_known_is_named_with_the_others(call):
    with pytest.raises(fl.UnknownName, match=r"option of .* got window_bytes; allowed: checksum,"):
        call()


@pytest.mark.random
def test_files_with_random_damage_are_errors_or_topologies(tmp_path, seed):
    draw = random.Random(seed)
    graph = {
        "hosts": ["a", "b"],
        "switches": ["s"],
        "links": [{"from": "a", "to": "s", "latency": 1e-6}, {"from": "b", "to": "s"}],
        "routes": [["a", "s", "b"]],
    }
    texts = [json.dumps(graph), "SwitchName=s0 Nodes=n[01-12,20]\nSwitchName=t Switches=s0\n"]
    refused = 0
    for number in range(600):
        text = list(texts[number % 2])
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(text))
            text[place] = draw.choice(['"', "[", "]", "{", "}", ",", "0", "-", "e", "\\", "\n", ""])
        path = tmp_path / "net"
        path.write_text("".join(text))
        try:
            net = fl.route.topology(path)
            fl.route.plan(net, [(0, net.hosts - 1)])
        except fl.InvalidArgument as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
    assert refused > 200


def test_a_rank_on_a_host_that_is_not_there(tmp_path):
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"hosts": ["nowhere-1", "nowhere-2"]}))
    with pytest.raises(fl.UnknownName, match=r"rank 0 runs on a host that the topology net\.json"):
        fl.route.topology(path).placed(None)
    plan = fl.route.plan(path, [(0, 0)])
    with pytest.warns(UserWarning, match="flows go direct: ranks run on other hosts"):
        assert fl.route.exchange(None, plan, {0: b"whole"})[0].tobytes() == b"whole"


def test_a_damaged_file_is_named_with_the_place(tmp_path):
    path = tmp_path / "net.json"
    path.write_text('{"hosts": ["a"],\n "links": [}')
    with pytest.raises(fl.InvalidArgument, match=r"net\.json.*line 2, column 12"):
        fl.route.topology(path)
    for text in ("", " \n"):
        path.write_text(text)
        with pytest.raises(fl.InvalidArgument, match=r"is empty: got .*net\.json"):
            fl.route.topology(path)
    path.write_text('{"hosts": ["a"]}', encoding="utf-8-sig")  # as some editors write
    assert fl.route.topology(path).hosts == 1
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(fl.InvalidArgument, match="a file of text"):
        fl.route.topology(path)
    with pytest.raises(fl.InvalidArgument, match="may be read"):
        fl.route.topology(tmp_path)


class Held(dict):
    """Flows that are known only when an event says so."""

    def __init__(self, flows, known):
        super().__init__(flows)
        self._known = known

    def items(self):
        self._known.wait()
        return super().items()


def test_a_wait_without_an_end_ends_with_the_exchange():
    known = threading.Event()
    moving = fl.route.begin(None, fl.route.plan("torus:4", [(0, 0)]), Held({0: b"abc"}, known))
    with pytest.raises(fl.TimedOut, match="not at its end"):
        moving.wait(0)
    with pytest.raises(fl.InvalidArgument, match="timeout is out of range"):
        moving.wait(-1)
    threading.Timer(0.1, known.set).start()
    assert moving.wait(float("inf"))[0].tobytes() == b"abc"


def test_elements_are_sent_and_written_row_by_row(tmp_path):
    plan = fl.route.plan("torus:4", [(0, 0)])
    rows = np.arange(24, dtype="i4").reshape(2, 3, 4)
    columns = np.asfortranarray(rows)
    wide = np.zeros((4, 6, 8), "i4")[::2, ::2, ::2]
    wide[...] = rows
    for array in (rows, columns, wide, memoryview(rows), memoryview(columns), memoryview(wide)):
        found = fl.route.exchange(None, plan, {0: array})[0]
        assert found.tobytes() == rows.tobytes()
        fl.route.sparse_write(None, tmp_path / "file", {0: array})
        assert (tmp_path / "file").read_bytes() == rows.tobytes()


def test_what_is_no_regular_file_is_not_written(tmp_path):
    """A pipe that nobody reads was waited for, for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/null"):
        with pytest.raises(fl.SystemError, match=r"no regular file: got .* a regular file, or a"):
            fl.route.sparse_write(None, path, {0: b"x"}, stall_timeout=5)
    with pytest.raises(fl.SystemError, match=r"No such file.*; allowed: a regular file, or a new"):
        fl.route.sparse_write(None, tmp_path / "none" / "x", {0: b"x"})
    with open(tmp_path / "pipe", "rb", buffering=0, opener=reading_at_once) as pipe:
        with pytest.raises(fl.SystemError, match="no regular file"):
            fl.route.sparse_write(None, tmp_path / "pipe", {0: b"x"}, stall_timeout=5)
        assert pipe.read() == b""


def reading_at_once(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)


def test_a_child_has_no_part_in_an_exchange_of_its_parent():
    moving = fl.route.begin(None, fl.route.plan("torus:4x4", [(0, 0)]), {0: [1.0, 2.0]})
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (moving.wait, lambda: moving.done):
            with contextlib.suppress(fl.InvalidArgument):
                call()
                continue
            refused += 1
        os._exit(0 if refused == 2 and "inherited" in repr(moving) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert moving.wait()[0].view("f8").tolist() == [1.0, 2.0]
