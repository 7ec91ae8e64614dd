# SPDX-License-Identifier: Apache-2.0
"""All ranks of a job write one series of files, each its own part."""

import numpy as np
import pytest
from harness import scenario

SHAPE = (23, 5, 4)


def field(index):
    return np.arange(np.prod(SHAPE), dtype="f4").reshape(SHAPE) + 1000 * index


def write(comm, fl, where):
    from fluvial.stage.file_writer import FileWriteSeries

    labelled = ("one.nc", "many%T.nc", "one.nc4", "many%T.nc4")
    for name in (*labelled, "one.h5", "many%T.h5", "one.zarr", "many%T.zarr", "one.bp"):
        x = "x" if name in labelled else "meshes/E/x"
        with fl.open(str(where / name), "w", comm=comm, step_timeout=30) as series:
            assert isinstance(series, FileWriteSeries)
            for index in range(4):
                with series.step(time=float(index)) as step:
                    axis = index % 3  # slabs, columns, and what is strided most
                    cuts = np.linspace(0, SHAPE[axis], comm.size + 1).astype(int)
                    part = np.take(field(index), range(cuts[comm.rank], cuts[comm.rank + 1]), axis)
                    offset = [0, 0, 0]
                    offset[axis] = int(cuts[comm.rank])
                    step.put(x, part, offset=offset, shape=SHAPE)
                    if comm.rank == comm.size - 1:
                        step.put("last", np.arange(comm.size))
        comm.Barrier()
        with fl.open(str(where / name), comm=comm) as series:
            for index, step in enumerate(series):
                np.testing.assert_array_equal(step[x].read(), field(index))
                assert step["last"].sum() == comm.size * (comm.size - 1) // 2
            assert len(series) == 4


def write_compressed(comm, fl, where):
    """Slabs of ranks are whole chunks, which each compresses itself; columns are not."""
    for name in ("one.h5", "many%T.h5", "one.nc4", "many%T.nc4"):
        with fl.open(str(where / name), "w", comm=comm, compression="gzip") as series:
            for axis in (0, 2):
                whole = np.tile(field(axis), (8, 1, 1))
                cuts = np.arange(comm.size + 1) * -(-whole.shape[axis] // comm.size)
                cuts = np.minimum(cuts, whole.shape[axis])
                part = np.take(whole, range(cuts[comm.rank], cuts[comm.rank + 1]), axis)
                offset = [0, 0, 0]
                offset[axis] = int(cuts[comm.rank])
                with series.step(iteration=axis) as step:
                    step.put("x", part, offset=offset, shape=whole.shape)
        comm.Barrier()
        with fl.open(str(where / name), comm=comm) as series:
            assert series.steps.indices == ([0, 1] if name == "one.nc4" else [0, 2])
            for step, axis in zip(series, (0, 2), strict=True):
                np.testing.assert_array_equal(step["x"].read(), np.tile(field(axis), (8, 1, 1)))
    with pytest.raises(fl.InvalidArgument, match="cannot compress so"):
        fl.open(str(where / "a.h5"), "w", comm=comm, compression="gzip" if comm.rank else "lz")
    with pytest.raises(fl.InvalidArgument, match="ranks differ in what files are written"):
        fl.open(str(where / "a.h5"), "w", comm=comm, compression=f"gzip:{1 + comm.rank}")


def write_labelled(comm, fl, where):
    """Each rank knows the coordinates of its own rows alone."""
    for name in ("labelled.nc", "labelled.nc4", "labelled.zarr"):
        write_labelled_to(comm, fl, str(where / name))


def write_labelled_to(comm, fl, path):
    import xarray as xr

    lat, lon = np.linspace(-80, 80, 4 * comm.size), np.arange(6) * 60.0
    rows, last = slice(4 * comm.rank, 4 * comm.rank + 4), comm.rank == comm.size - 1
    whole = xr.DataArray(
        np.arange(24.0 * comm.size).reshape(-1, 6), {"lat": lat, "lon": lon}, ("lat", "lon")
    )
    with fl.open(path, "w", comm=comm, step_timeout=30) as series:
        for index in range(3):
            with series.step(time=float(index)) as step:
                mine = whole[rows] + index
                step.put("t", mine, offset=(rows.start, 0), shape=whole.shape)
                if last:
                    step.put("level", [1.0, 2.0], attrs={"axisLabels": ["level"]})
        with pytest.raises(fl.Error, match="differ in the coordinate 'lon'"), series.step() as step:
            wrong = whole[rows].assign_coords(lon=lon + (1.0 if last else 0.0))
            step.put("t", wrong, offset=(rows.start, 0), shape=whole.shape)
    comm.Barrier()
    with xr.open_dataset(path, engine="zarr" if path.endswith("zarr") else "netcdf4") as found:
        assert found.sizes["time"] == 3
        np.testing.assert_array_equal(found["lat"], lat)
        np.testing.assert_array_equal(found["t"][2], whole + 2)
    with fl.open(path, comm=comm) as file:  # all ranks read and reduce together
        assert [float(step["t"].sum()) for step in file] == [
            float((whole + index).sum()) for index in range(3)
        ]
        if path.endswith("zarr"):  # rows of a rank are chunks, which it has written itself
            assert file["t"].chunks == (1, 4, 6)


def refuse(comm, fl, where):
    last = comm.rank == comm.size - 1
    with fl.open(str(where / "a.h5"), "w", comm=comm, step_timeout=30) as series:
        with (
            pytest.raises(fl.InvalidArgument, match="the ranks differ in 'x'"),
            series.step() as step,
        ):
            step.put("x", np.ones(4, "f4" if last else "f8"), offset=(4 * comm.rank,), shape=(8,))
        with pytest.raises(fl.InvalidArgument, match="got 4 of 8 elements"), series.step() as step:
            if last:
                step.put("x", np.ones(4), shape=(8,))
        expected, message = (KeyError, "mine") if last else (fl.Error, r"rank 1, KeyError: .*mine")
        with pytest.raises(expected, match=message), series.step() as step:
            step.put("x", np.ones(4), offset=(4 * comm.rank,), shape=(8,))
            if last:
                raise KeyError("mine")
        with series.step() as step:
            step.put("x", np.full(4, comm.rank), offset=(4 * comm.rank,), shape=(8,))
    comm.Barrier()
    with fl.open(str(where / "a.h5"), comm=comm) as file:
        assert [step.index for step in file] == [3]
        assert file.steps[0]["x"].sum() == 4
    with fl.open(str(where / "b.h5"), "w", comm=comm, step_timeout=0.5) as series:
        if last:
            comm.Barrier()
        else:
            step = series.step()
            with pytest.raises(TimeoutError, match="a rank did not come"):
                step.__exit__(None, None, None)
            comm.Barrier()
        series._closed = True  # the ranks are no longer together


def come_late(comm, fl, where):
    """The series needs the communicator that it was opened with no more."""
    import time

    for name in ("late.h5", "late%T.nc"):
        own = comm.Dup()
        series = fl.open(str(where / name), "w", comm=own)
        own.Free()
        with series, series.step() as step:
            step.put("x", np.full(4, comm.rank), offset=(4 * comm.rank,), shape=(4 * comm.size,))
            if comm.rank == comm.size - 1:
                time.sleep(0.4)  # meanwhile the others look for it
        comm.Barrier()
        with fl.open(str(where / name), comm=comm) as series:
            assert [float(step["x"].sum()) for step in series] == [4]


@scenario("job on 3 ranks", timeout=90)
class test_three_ranks_write_one_series:
    job = write

    def check(jobs):
        jobs.finish()


@scenario("job on 1 rank", timeout=60)
class test_one_rank_writes_a_series:
    job = write

    def check(jobs):
        jobs.finish()


@scenario("job on 3 ranks", timeout=60)
class test_ranks_compress_their_own_parts:
    job = write_compressed

    def check(jobs):
        jobs.finish()


@scenario("job on 3 ranks", timeout=60)
class test_ranks_write_labelled_arrays:
    job = write_labelled

    def check(jobs):
        jobs.finish()


@scenario("job on 2 ranks", timeout=60)
class test_what_one_rank_gets_wrong_is_an_error_on_all:
    job = refuse

    def check(jobs):
        jobs.finish()


@scenario("job on 2 ranks", timeout=60)
class test_a_communicator_may_be_freed_before_ranks_come:
    job = come_late

    def check(jobs):
        jobs.finish()
