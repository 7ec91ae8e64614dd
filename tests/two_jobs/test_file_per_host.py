# SPDX-License-Identifier: Apache-2.0
"""The ranks of each host write a file of their own; together they are one series.

The hosts are names alone here: ranks on real ones write so in `tests/cluster`.
"""

import glob
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from harness import scenario
from harness.named_hosts import SHAPE, boxes, field, name_hosts
from harness.unlucky_writers import killed_in_the_third_step


def write_steps(comm, fl, path, **options):
    with fl.open(path, "w", comm=comm, step_timeout=30, file_per="host", **options) as series:
        for index in range(4):
            with series.step(time=float(index)) as step:
                for box in boxes(comm, SHAPE, index):
                    offset = [s.start for s in box]
                    step.put("meshes/E/x", field(index)[box], offset=offset, shape=SHAPE)
                if comm.rank == 0:  # what one rank alone has, and what is too small for a part
                    step.put("meshes/w", np.arange(3000.0) + index)
                    step.put("energy", np.arange(5))


def write(comm, fl, where):
    name_hosts(comm, 2)
    path = str(where / "run.h5")
    stale = f"{path}.host7"
    if comm.rank == 0:
        pathlib.Path(stale).write_text("of a series with more hosts")
    comm.Barrier()
    write_steps(comm, fl, path)
    comm.Barrier()
    found = sorted(glob.glob(f"{path}*"))
    assert found == [path, *(f"{path}.host{n}" for n in range((comm.size + 1) // 2))]
    with fl.open(path, comm=comm) as series:
        assert len(series) == 4
        for index, step in enumerate(series):
            np.testing.assert_array_equal(step["meshes/E/x"].read(), field(index))
            assert float(step["meshes/E/x"].reduce("max")) == field(index).max()
            assert float(step["meshes/w"].sum()) == 2999 * 1500 + 3000 * index
            np.testing.assert_array_equal(step["energy"].read(), np.arange(5))
    comm.Barrier()
    if comm.rank == 0:
        read_by_others(path)


def read_by_others(path):
    import h5py
    import openpmd_api as io

    with h5py.File(path) as file:
        assert file["data/0/meshes/E/x"].is_virtual
        assert not file["data/0/energy"].is_virtual
        # Slabs of ranks that follow each other on a host are one source.
        assert len(file["data/0/meshes/E/x"].virtual_sources()) == len(glob.glob(f"{path}.host*"))
        np.testing.assert_array_equal(file["data/3/meshes/E/x"][()], field(3))
    series = io.Series(path, io.Access.read_only)
    found = series.iterations[1].meshes["E"]["x"].load_chunk()
    series.flush()
    np.testing.assert_array_equal(found, field(1))
    series.close()
    checker = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    done = subprocess.run(
        [sys.executable, checker, "-i", path], capture_output=True, text=True, check=False
    )
    assert "Result: 0 Errors" in done.stdout, done.stdout + done.stderr
    # The files move together, and one without the others is no zeros.
    folder = pathlib.Path(path).parent / "moved"
    folder.mkdir()
    for file in glob.glob(f"{path}*"):
        os.rename(file, folder / os.path.basename(file))
    import fluvial as fl

    moved = folder / "run.h5"
    with fl.open(str(moved)) as series:
        np.testing.assert_array_equal(series.steps[2]["meshes/E/x"].read(), field(2))
    os.unlink(f"{moved}.host0")
    with (
        fl.open(str(moved)) as series,
        pytest.raises(fl.DamagedFile, match=r"is missing.*host0"),
    ):
        series.steps[2]["meshes/E/x"].read()


def refuse(comm, fl, where):
    name_hosts(comm, 1)
    last = comm.rank == comm.size - 1
    for name, options in (
        ("a%T.h5", {}),
        ("a.nc", {}),
        ("a.h5", {"compression": "gzip"}),
    ):
        with pytest.raises(fl.InvalidArgument, match="each host cannot have a file"):
            fl.open(str(where / name), "w", comm=comm, file_per="host", **options)
    with pytest.raises(
        fl.InvalidArgument, match=r"file_per: got .*node.*; allowed: .*job.*, .*host"
    ):
        fl.open(str(where / "a.h5"), "w", comm=comm, file_per="node")
    with pytest.raises(fl.InvalidArgument, match="ranks differ in what files are written"):
        fl.open(str(where / "a.h5"), "w", comm=comm, file_per="host" if last else "job")
    with fl.open(str(where / "a.h5"), "w", comm=comm, file_per="host", step_timeout=30) as series:
        with pytest.raises(fl.InvalidArgument, match="got 2000 of 4000"), series.step() as step:
            if last:
                step.put("x", np.ones(2000), shape=(4000,))
        with series.step() as step:
            mine = np.full(2000, comm.rank)
            step.put("x", mine, offset=(2000 * comm.rank,), shape=(2000 * comm.size,))
    comm.Barrier()
    with fl.open(str(where / "a.h5"), comm=comm) as file:
        assert [step.index for step in file] == [1]
        assert file.steps[0]["x"].sum() == 2000


@scenario("job on 3 ranks", timeout=90)
class test_three_ranks_on_two_hosts:
    job = write

    def check(jobs):
        jobs.finish()


@scenario("job on 1 rank", timeout=60)
class test_one_rank_has_one_host:
    job = write

    def check(jobs):
        jobs.finish()


@scenario("job on 2 ranks", timeout=60)
class test_what_cannot_be_is_an_error_on_all:
    job = refuse

    def check(jobs):
        jobs.finish()


def test_a_program_without_mpi(tmp_path):
    import fluvial as fl

    path = str(tmp_path / "50%b.h5")
    with fl.open(path, "w", engine="hdf5", file_per="host") as series:
        for index in range(3):
            with series.step() as step:
                step.put("x", field(index), attrs={"unit": "m"})
    assert sorted(os.listdir(tmp_path)) == ["50%b.h5", "50%b.h5.host0"]
    with fl.open(path) as file:
        for index, step in enumerate(file):
            np.testing.assert_array_equal(step["x"].read(), field(index))
            assert dict(step["x"].attrs) == {"unit": "m"}


def test_what_is_removed_with_a_file_that_is_written_anew(tmp_path):
    """The files of its hosts, and nothing that only begins alike."""
    import fluvial as fl

    others = ["run.h5.hosts", "run.h5.host", "run.nc.host0"]
    for name in ("run.h5.host0", "run.h5.host12", *others):
        (tmp_path / name).write_text("was here")
    for name in ("run.h5", "run.nc"):
        with fl.open(str(tmp_path / name), "w") as series, series.step() as step:
            step.put("x", np.ones(3))
    assert sorted(os.listdir(tmp_path)) == sorted(["run.h5", "run.nc", *others])


def test_a_killed_writer_leaves_nothing_wrong(tmp_path):
    """A follower gets whole steps, then PeerLost; no element that nobody wrote."""
    path = str(tmp_path / "run.h5")
    killed_in_the_third_step(path, length=2000, file_per="host")
    import fluvial as fl

    seen = []
    with pytest.raises(fl.PeerLost), fl.open(path, follow=True, step_timeout=5) as series:
        for step in series:
            seen.append(float(step["x"].mean()))
    assert seen == [0.0, 1.0]
