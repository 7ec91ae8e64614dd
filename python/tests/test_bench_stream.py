# SPDX-License-Identifier: Apache-2.0
"""The stream bench's program, cases, simulated machines and figures."""

from collections import Counter
from dataclasses import replace
from itertools import chain
from xml.etree import ElementTree

import pytest

from bench import plotter
from bench.scan import compiled, once
from bench.stream import cases, machines, picture, question, report, simulated, tables
from bench.stream.cases import DEFAULT_WAY, MESSAGE_WAYS, PEERS, SEED, SIZES, WAYS, Case
from bench.stream.figures import Figures, Turn

CASE = Case(SIZES, "MPICH", doubles=1)
MESSAGES = f"{DEFAULT_WAY}/messages"


@pytest.fixture(scope="module")
def contest():
    program = compiled.with_fluvial("stream_mpich", question._PROGRAM)
    if program.path is None:
        pytest.skip(program.missing)
    return program


def compete(contest, ranks, **words):
    command = [*contest.launcher, "-n", str(ranks), str(contest.path)]
    yields = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}
    yields["MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"] = "1"
    given = {"yields": 1, "repeats": 1, **words}
    return once.run_lines([*command, *(f"{k}={v}" for k, v in given.items())], 60, yields)


@pytest.mark.parametrize("doubles", [1, 3, 512, 50_000])
def test_every_contestant_delivers_every_element_once(contest, doubles):
    bare = chain.from_iterable(cases.BARE_EXCHANGES.values())
    who = cases.turns_of([*PEERS, *WAYS, *MESSAGE_WAYS, *bare])
    lines = compete(contest, 2, contestants=",".join(who), doubles=doubles, elements=100)
    assert [line["contestant"] for line in lines] == who
    assert all(line["elements"] == 100 and line["seconds"] > 0 for line in lines)
    assert all(line["one_way_ns"] > 0 for line in lines)


@pytest.mark.parametrize("doubles", [2**13, 50_000])
def test_elements_made_anew_arrive_once(contest, doubles):
    messages = (cases.WINDOW, cases.WINDOW_WORKED, cases.SEND, cases.BARE_RING, cases.BARE_MESSAGES)
    who = cases.turns_of([SEED, *messages, *WAYS, *MESSAGE_WAYS])
    words = {"contestants": ",".join(who), "doubles": doubles, "changes": 1}
    assert [line["contestant"] for line in compete(contest, 2, elements=100, **words)] == who


@pytest.mark.parametrize(("consumers", "producers"), [(1, 3), (2, 3), (2, 2)])
@pytest.mark.parametrize("kernel", ["copy", "triad"])
def test_several_producers_and_consumers(contest, consumers, producers, kernel):
    who = f"{SEED},send-recv,{DEFAULT_WAY},{MESSAGES}"
    words = {"contestants": who, "doubles": 8, "elements": 1000, "consumers": consumers}
    lines = compete(contest, consumers + producers, kernel=kernel, flops=100, **words)
    assert [line["elements"] for line in lines] == [1000 * producers] * 4


def test_turns_rotate_and_the_number_of_elements_is_found(contest):
    words = {"contestants": f"{SEED},{DEFAULT_WAY}", "seconds": 0.002}
    lines = compete(contest, 2, repeats=2, **words)
    assert [line["contestant"] for line in lines] == [SEED, DEFAULT_WAY, DEFAULT_WAY, SEED]
    assert lines[0]["elements"] == lines[3]["elements"] >= 8


@pytest.mark.parametrize("calls_mpi", [0, 1])
def test_a_consumer_that_computes_does_not_grow_beyond_the_limit(contest, calls_mpi):
    words = {"doubles": 512, "elements": 20_000, "away": 0.5, "buffer": 2**22}
    words["calls_mpi"] = calls_mpi
    (line,) = compete(contest, 2, contestants=DEFAULT_WAY, **words)
    assert line["limit_bytes"] == 2**22
    assert line["seconds"] >= 0.5
    assert line["grown_bytes"] < 2**22 + 2**23


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"contestants": "pigeons"}, "no contestant 'pigeons'"),
        ({"contestants": "put-whole"}, "no contestant 'put-whole'"),
        ({"contestants": SEED, "changes": 1}, "elements that change have 64 KiB or more"),
        ({"contestants": SEED, "kernel": "sort"}, "copy, scale, add or triad"),
    ],
)
def test_the_program_refuses_what_it_does_not_know(contest, words, said):
    with pytest.raises(once.RunError, match=said):
        compete(contest, 2, **words)


def test_an_element_has_one_axis_in_each_experiment():
    assert CASE.params["bytes"] == 8
    flops = replace(CASE, experiment=cases.FLOPS, flops=10).params
    assert (flops["flops"], flops["element"]) == (10, 8)
    assert "bytes" not in flops
    producers = replace(CASE, experiment=cases.PRODUCERS, producers=6, consumers=2).params
    assert (producers["producers"], producers["ranks"]) == (3, [6, 2])


@pytest.mark.parametrize("placement", [cases.APART, cases.DEALT])
def test_ranks_are_placed_and_their_cores_probed(contest, placement):
    case = replace(CASE, experiment=cases.PRODUCERS, producers=5, doubles=8, placement=placement)
    words = {**case.words(), "contestants": f"{DEFAULT_WAY},{cases.LIMIT}", "cores": "0,1"}
    lines = compete(contest, 6, elements=1000, **words)
    assert [line["elements"] for line in lines] == [5000, 5000]
    assert all(line["one_way_ns"] > 0 for line in lines)


def test_the_state_of_the_cores():
    assert [cases.state_of(ns) for ns in (30, 60, 160, 260)] == ["near", "near", "far", "far"]


@pytest.mark.parametrize("machine", machines.MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("pairs", simulated.Plan().pairs)
def test_ranks_are_placed_so_that_no_pair_shares_a_node(machine, pairs):
    hosts = machine.hosts(pairs)
    assert len(hosts) == 2 * pairs
    assert all(a != b for a, b in zip(hosts[:pairs], hosts[pairs:], strict=True))
    assert max(Counter(hosts).values()) == machines.RANKS_A_NODE
    known = {f"node{number}" for number in range(machines.NODES)}
    assert set(hosts) <= known


@pytest.mark.parametrize("machine", machines.MACHINES, ids=lambda machine: machine.name)
def test_platforms_have_as_many_nodes_as_their_topology(machine, tmp_path):
    platform, hosts = machine.write(tmp_path, 32)
    cluster = ElementTree.parse(platform).getroot().find("cluster")
    assert cluster.get("radical") == f"0-{machines.NODES - 1}"
    extents = cluster.get("topo_parameters").split(";")
    factors = (extents[0] if machine is machines.TORUS else extents[1]).split(",")
    product = 1
    for factor in factors:
        product *= int(factor)
    assert product == machines.NODES
    assert len(hosts.read_text().split()) == 64
    with pytest.raises(ValueError, match="512 nodes"):
        machine.hosts(4096)


def turn(repetition, rate, ns=60.0, grown=0.0):
    """Return a turn in which elements of 8 bytes came at `rate` GB/s."""
    return Turn(repetition, 125_000_000, 1 / rate, ns, grown, 2.0**24)


@pytest.fixture
def figures():
    found = Figures()
    sizes = found.turns[CASE]
    sizes[SEED] += [turn(0, 0.01), turn(1, 0.02, 260), turn(2, 0.04, 260)]
    sizes["send-recv"] += [turn(k, 0.02) for k in range(3)]
    sizes[DEFAULT_WAY] += [turn(0, 0.5), turn(1, 0.4, 260), turn(2, 0.4, 50)]
    sizes["many-batch"] += [turn(k, 3.0) for k in range(3)]
    sizes[MESSAGES] += [turn(k, 0.1) for k in range(3)]
    for producers, rate in ((1, 4.0), (25, 1.5)):
        for placement in (cases.APART, cases.DEALT):
            case = replace(CASE, experiment=cases.PRODUCERS, doubles=512)
            case = replace(case, producers=producers, placement=placement)
            found.turns[case][SEED].append(turn(0, 0.5))
            found.turns[case][DEFAULT_WAY].append(turn(0, rate))
            found.turns[case][DEFAULT_WAY].append(turn(1, 2 * rate, 260))
            found.turns[case][cases.LIMIT].append(turn(0, 2 * rate))
    for flops in (10, 100):
        case = replace(CASE, experiment=cases.FLOPS, doubles=512, flops=flops)
        found.turns[case][DEFAULT_WAY].append(turn(0, 1.0))
    memory = replace(CASE, experiment=cases.MEMORY, doubles=512, away=cases.INSIDE)
    found.turns[memory][SEED].append(turn(0, 1.0, 0, 2.0**28))
    found.turns[memory][DEFAULT_WAY].append(turn(0, 1.0, 0, 2.0**24))
    for pairs, rate in ((32, 4.0), (64, 7.0)):
        case = Case(cases.SIMULATED, "SMPI", producers=pairs, consumers=pairs, machine="torus")
        found.turns[case][simulated.WAY].append(Turn(0, 10**6, 4.096e-3 / rate * 1e3, 0, 0, 0))
    return found


def test_ratios_are_those_of_the_same_repetition(figures):
    assert figures.ratio(CASE, DEFAULT_WAY, SEED) == pytest.approx(20)
    assert figures.ratio(CASE, DEFAULT_WAY, SEED, "near") == pytest.approx(50)
    assert figures.ratio(CASE, DEFAULT_WAY, SEED, "far") == pytest.approx(20)
    assert figures.ratio(CASE, DEFAULT_WAY, "memcpy") is None
    assert figures.best(CASE, WAYS) == "many-batch"
    assert figures.best(CASE, ["place-batch"]) is None


def test_records_have_every_way_beside_its_peers(figures):
    by = {}
    for record in report.records(figures):
        by.setdefault((record.case, record.metric, record.peer), []).append(record)
    seed, rate = PEERS[SEED], report.RATE.name
    (one,) = by["same node, put-batch", rate, seed]
    assert (one.median, one.ratio) == (pytest.approx(0.4), pytest.approx(20))
    (best,) = by["same node, best way", rate, PEERS["send-recv"]]
    assert best.params["way"] == "many-batch"
    assert best.ratio == pytest.approx(150)
    (memory,) = by["memory, same node", report.GROWTH.name, seed]
    assert memory.ratio == pytest.approx(16)
    scaled = by["scaling, simulated, torus", rate, report.LINEAR]
    assert [record.ratio for record in scaled] == pytest.approx([1, 7 / 8])
    assert by["core distance", report.DISTANCE.name, ""][0].max == 260
    assert len(by["producers", rate, seed]) == 4
    assert len(by["producers, bare work", rate, ""]) == 4


def test_expectations_are_judged_in_both_states(figures):
    said = dict((sentence, holds) for holds, sentence in tables.judge(figures))
    near = [s for s in said if "cores near" in s and "paper's scheme" in s and "same node" in s]
    assert len(near) == 1
    assert said[near[0]]
    assert "300× the paper's scheme (expected: 25×; many-batch)" in near[0]
    far = [s for s in said if "cores near" in s and "between nodes" in s]
    assert not said[far[0]]
    assert any("375 million elements/s with many-batch" in s for s in said)
    apart, dealt = (
        [s for s in said if "25 producers reach 0.38" in s and where in s]
        for where in (cases.APART, cases.DEALT)
    )
    assert ["expected: 0.5" in s for s in (*apart, *dealt)] == [True, True, False, False]
    assert [said[s] for s in (*apart, *dealt)] == [False, False, True, True]
    assert "bare work 0.38" in dealt[0]
    (grown,) = [s for s in said if "grows by 16.0 MiB" in s]
    assert said[grown]
    (scaled,) = [s for s in said if "64+64 ranks reach 87.5 % of linear" in s]
    assert not said[scaled]


@pytest.mark.parametrize(("rate", "holds"), [(0.96, True), (0.9, False)])
@pytest.mark.parametrize(
    ("path", "way", "bare"),
    [
        (cases.SAME_NODE, DEFAULT_WAY, cases.BARE_RING),
        (cases.BETWEEN, MESSAGES, cases.BARE_MESSAGES),
    ],
)
def test_streams_are_held_against_the_best_bare_exchange(path, way, bare, rate, holds):
    found = Figures()
    case = replace(CASE, doubles=2**13)
    found.turns[case][way].append(turn(0, 2 * rate))
    for variant, reached in zip(cases.turns_of([bare]), (1.0, 2.0, 1.5), strict=True):
        found.turns[case][variant].append(turn(0, reached))
    ((held, sentence),) = tables.judge(found)
    assert held == holds
    assert f"× {cases.NAMES[bare]} (expected: 0.95×" in sentence
    (record,) = (r for r in report.records(found) if r.peer == cases.NAMES[bare])
    assert (record.case, record.ratio) == (f"{path}, best way", pytest.approx(rate))
    (alone,) = (r for r in report.records(found) if r.case == cases.NAMES[bare])
    assert alone.median == pytest.approx(2.0 * case.doubles)


def test_elements_made_anew_have_expectations_and_records_of_their_own():
    found = Figures()
    case = replace(CASE, experiment=cases.ANEW, doubles=2**13)
    assert case.words()["changes"] == 1
    assert CASE.words()["changes"] == 0
    found.turns[case][DEFAULT_WAY].append(turn(0, 3.0))
    found.turns[case][cases.WINDOW].append(turn(0, 2.0))
    ((holds, sentence),) = tables.judge(found)
    assert holds
    assert "64 KiB, elements made anew" in sentence
    assert "1.5× one-way MPI, window 64 (expected: 1.3×" in sentence
    assert {record.case.split(",")[0] for record in report.records(found)} == {cases.ANEW}


def test_a_dip_is_judged_also_when_the_cores_were_never_in_the_same_state():
    found = Figures()
    for producers, ns in ((1, 30), (25, 160)):
        case = replace(CASE, experiment=cases.PRODUCERS, producers=producers)
        found.turns[replace(case, placement=cases.APART)][DEFAULT_WAY].append(turn(0, 1.0, ns))
    ((holds, sentence),) = tables.judge(found)
    assert holds
    assert "cores near or far: 25 producers reach 1.00" in sentence


@pytest.mark.parametrize("measured", [True, False])
def test_the_picture_is_drawn_and_the_tables_shown(tmp_path, figures, measured, capsys):
    header = {
        "machine": {"cpu": "a CPU", "cores": 2, "kernel": "6", "caches": {}, "memory_gib": 1,
                    "governor": "none", "load": 0},
        "software": {},
    }  # fmt: skip
    shown = figures if measured else Figures()
    png = tmp_path / "stream.png"
    records = picture.drawn(report.records(shown), "MPICH")
    plotter.draw(png, picture.layout(header, "MPICH"), records)
    assert png.stat().st_size > 10_000
    tables.show(tables.Console(width=200), shown, header)
    printed = capsys.readouterr().out
    assert ("87.5 %" in printed) == measured
    assert ("256.0 MiB" in printed) == measured
    assert ("✗" in printed) == measured


def test_unknown_parts_are_refused():
    with pytest.raises(question.typer.BadParameter, match="'tea'"):
        question._chosen(["sizes", "tea"], question._PARTS, "--parts")
