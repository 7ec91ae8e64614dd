# SPDX-License-Identifier: Apache-2.0
"""BP from ranks on several hosts: one rank of each writes there, and together it is one series.

The hosts are names alone here: ranks on real ones write so in `tests/cluster`.
"""

import os

import numpy as np
import pytest
from harness import scenario
from harness.named_hosts import SHAPE, boxes, field, name_hosts


def write_steps(comm, fl, path):
    with fl.open(path, "w", comm=comm, step_timeout=30) as series:
        series.attrs["author"] = "somebody"
        for index in range(4):
            with series.step(time=index / 4, dt=0.25) as step:
                for box in boxes(comm, SHAPE, index):
                    offset = [s.start for s in box]
                    attrs = {"unitSI": 2.0, "axisLabels": ["z", "y", "x"]}
                    step.put(
                        "meshes/E/x", field(index)[box], offset=offset, shape=SHAPE, attrs=attrs
                    )
                if comm.rank == comm.size - 1:  # what the last host alone has
                    step.put("energy", np.float64(index))
                    step.put("meshes/w", np.arange(300.0) + index)
    comm.Barrier()


def check_steps(series):
    assert series.format == "ADIOS2 BP"
    assert series.attrs["author"] == "somebody"
    assert len(series) == 4
    for index, step in enumerate(series):
        assert (step.index, step.time, step.dt) == (index, index / 4, 0.25)
        e = step.meshes["E"].x
        assert (e.dims, e.attrs["unitSI"]) == (("z", "y", "x"), 2.0)
        np.testing.assert_array_equal(e.read(), field(index))
        assert float(e.reduce("max")) == field(index).max()
        np.testing.assert_array_equal(step["meshes/w"].read(), np.arange(300.0) + index)
        assert step["energy"].read() == index


def write(comm, fl, where):
    name_hosts(comm, 2)
    hosts = (comm.size + 1) // 2
    files = sorted(["md.0", "md.idx", "mmd.0", *(f"data.{host}" for host in range(hosts))])
    for name, first in (("run.bp", "run.bp"), ("data%T.bp", "data0.bp")):
        path = str(where / name)
        write_steps(comm, fl, path)
        assert [
            entry for entry in sorted(os.listdir(where / first)) if "prof" not in entry
        ] == files
        with fl.open(path, comm=comm) as series:
            check_steps(series)
        comm.Barrier()
    assert not [entry for entry in os.listdir(where) if entry.endswith((".part", ".writing"))]
    if comm.rank == 0:
        read_by_others(str(where / "run.bp"), hosts)


def read_by_others(path, hosts):
    import adios2
    import openpmd_api as io

    series = io.Series(path, io.Access.read_only)
    assert [int(i) for i in series.iterations] == [0, 1, 2, 3]
    found = series.iterations[1].meshes["E"]["x"].load_chunk()
    series.flush()
    np.testing.assert_array_equal(found, field(1))
    series.close()
    with adios2.Stream(path, "r") as stream:
        for step in stream.steps():
            index = step.current_step()
            blocks = stream.engine.blocks_info(f"/data/{index}/meshes/E/x", index)
            assert {int(block["WriterID"]) for block in blocks} == set(range(hosts))
            np.testing.assert_array_equal(step.read(f"/data/{index}/meshes/E/x"), field(index))
            assert step.read(f"/data/{index}/energy") == index
        assert index == 3


def refuse(comm, fl, where):
    """An error of one rank leaves its step out, on all; what follows it is written."""
    name_hosts(comm, 1)
    last = comm.rank == comm.size - 1
    for name in ("run.bp", "data%T.bp"):
        path = str(where / name)
        with fl.open(path, "w", comm=comm, step_timeout=30) as series:
            with pytest.raises(fl.InvalidArgument, match="got 2000 of 4000"), series.step() as step:
                if last:
                    step.put("x", np.ones(2000), shape=(4000,))
            with pytest.raises(fl.InvalidArgument, match="float16"), series.step() as step:
                if last:
                    step.put("x", np.ones(20, "f2"))
            with series.step() as step:
                mine = np.full(2000, comm.rank)
                step.put("x", mine, offset=(2000 * comm.rank,), shape=(2000 * comm.size,))
            with series.step(attrs={"said": "nothing"}):  # attributes alone
                pass
        comm.Barrier()
        with fl.open(path, comm=comm) as file:
            assert [step.index for step in file] == [2, 3]
            assert file.steps[0]["x"].sum() == 2000 * sum(range(comm.size))
            assert file.steps[1].attrs["said"] == "nothing"


def fill_the_disk(comm, fl, where):
    """A host that cannot write is an error on all ranks; the steps before it are whole."""
    import resource
    import signal

    name_hosts(comm, 1)
    path = str(where / "run.bp")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if comm.rank == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    with fl.open(path, "w", comm=comm, step_timeout=30) as series:
        for count in (1000, 1_000_000, 1000):
            mine, shape = np.full(count, float(comm.rank)), (2 * count,)
            if count == 1000 and series.stats["steps"] == 0:
                with series.step() as step:
                    step.put("x", mine, offset=(count * comm.rank,), shape=shape)
                continue
            with pytest.raises(OSError, match=r"run\.bp.*cannot be written"), series.step() as step:
                step.put("x", mine, offset=(count * comm.rank,), shape=shape)
    comm.Barrier()
    with fl.open(path, comm=comm) as file:
        assert [(step.index, float(step["x"].sum())) for step in file] == [(0, 1000.0)]


@scenario("job on 3 ranks", timeout=90)
class test_three_ranks_on_two_hosts:
    job = write

    def check(jobs):
        jobs.finish()


@scenario("job on 2 ranks", timeout=60)
class test_what_cannot_be_written_is_an_error_on_all:
    job = refuse

    def check(jobs):
        jobs.finish()


@scenario("job on 2 ranks", timeout=60)
class test_a_host_with_a_full_disk:
    job = fill_the_disk

    def check(jobs):
        jobs.finish()
