# SPDX-License-Identifier: Apache-2.0
"""Where a process runs, by what the kernel shows of the host."""

import os
import socket

import pytest
from fluvial.distribute.own_place import place_of

import fluvial as fl


@pytest.fixture
def system(tmp_path):
    """Two sockets of four cores, with two NUMA nodes each, whose cores are not in a row."""
    for core in range(8):
        folder = tmp_path / f"cpu/cpu{core}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{core // 4}\n")
    for node, cores in enumerate(["0,2", "1,3", "4-5", "6-7"]):
        folder = tmp_path / f"node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n")
    (tmp_path / "node/node4").mkdir()  # of memory alone
    (tmp_path / "node/node4/cpulist").write_text("\n")
    return tmp_path


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        ({2}, {"socket": 0, "numa": 0}),
        ({4, 5}, {"socket": 1, "numa": 2}),
        ({0, 1}, {"socket": 0}),
        ({3, 4}, {}),
        ({8}, {}),
    ],
)
def test_layers_are_said_where_all_cores_belong_to_them(system, cores, said):
    assert place_of("node1", cores, system) == {"host": "node1", **said}


def test_a_kernel_that_does_not_know(tmp_path):
    assert place_of("a", {0}, tmp_path) == {"host": "a"}
    (tmp_path / "cpu/cpu0/topology").mkdir(parents=True)
    (tmp_path / "cpu/cpu0/topology/physical_package_id").write_text("-1\n")
    (tmp_path / "node/node0").mkdir(parents=True)
    (tmp_path / "node/node0/cpulist").write_text("?\n")
    assert place_of("a", {0}, tmp_path) == {"host": "a"}


def test_this_process():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        place = fl.distribute.own_place()
    finally:
        os.sched_setaffinity(0, before)
    assert place["host"] == socket.gethostname()
    assert place.keys() <= {"host", "socket", "numa"}
    made = fl.distribute.assign([((0,), (10,), 0, place)], [place], "by-layer(host, blocks)")
    assert [piece.extent for piece in made.shares[0]] == [(10,)]
