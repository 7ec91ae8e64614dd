# SPDX-License-Identifier: Apache-2.0
"""Files reduced by several ranks: the same program, the same results, errors on every rank."""

import os
import pathlib

import numpy as np
import pytest
import xarray as xr
from harness import scenario
from reading_files.climate import climate, same, write


def reduce(comm, fl, path):
    """Everything a program may do, without any call of MPI in it."""
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        expected = dataset.load().astype("f8")
        t = expected["temperature"]
        for over in [None, "time", ("lat", "lon")]:
            found = file["temperature"].reduce(["mean", "min", "max", "std", "count"], over)
            for op in found:
                same(found[op], getattr(t, op)(over))
        part = file["temperature"].sel(lat=slice(50, -30)).isel(level=0, time=slice(None, None, -3))
        chosen = t.sel(lat=slice(50, -30)).isel(level=0, time=slice(None, None, -3))
        same(part.reduce("mean", over="time"), chosen.mean("time"))
        cosine = np.cos(np.deg2rad(expected["lat"]))
        same(
            file["u"].where("u > -2").weighted("cos(lat)").reduce("mean", over=("lat", "lon")),
            expected["u"].where(expected["u"] > -2).weighted(cosine).mean(("lat", "lon")),
        )
        same(
            file["u"].groupby("time.month").reduce("sum"), expected["u"].groupby("time.month").sum()
        )
        speed = file.reduce(fl.ops.Apply(np.hypot, "max"), ["u", "v"], where=lambda u: u > 0)
        right = np.hypot(expected["u"], expected["v"]).where(expected["u"] > 0)
        same(speed, right.max())
        same_everywhere = file["u"].isel(lat=slice(None, None, -1), time=slice(None, None, -2))
        sign = same_everywhere.reduce(fl.ops.Apply(np.sign, "argmax"))
        signs = np.sign(expected["u"].isel(lat=slice(None, None, -1), time=slice(None, None, -2)))
        place = np.unravel_index(np.nanargmax(signs.values), signs.shape)
        assert sign["lat"] == signs["lat"][place[signs.dims.index("lat")]]
        assert sign["time"] == signs["time"][place[signs.dims.index("time")]]
        high = fl.ops.Quantile([0.1, 0.9], exact=True, accuracy=0.1, skipna=True)
        same(
            file["u"].reduce(high, over="time").drop_vars("error"),
            expected["u"].quantile([0.1, 0.9], dim="time").transpose(..., "quantile"),
        )
        low = file["u"].reduce("argmin")
        assert expected["u"].values[tuple(low[f"{d}_index"] for d in t.dims if d != "level")] == low
        pending = file["temperature"].start("sum", over="time", threads=1)
        while not pending.test():
            pass
        same(pending.wait(), t.sum("time"))
        alone = file["temperature"].start("sum", over="time", local=True)
        alone.wait()
        # Each element and each chunk once in the job. Bytes depend on how they are read: what
        # lies between two chunks may come along with them.
        for once in ("elements", "chunks_decoded"):
            assert comm.allreduce(pending.stats[once]) == alone.stats[once], once
        return float(low)


def program(comm, fl, where, kind):
    path = where / "t.nc"
    if comm.rank == 0:
        write(climate(), path, kind)
    comm.barrier()
    return reduce(comm, fl, str(path))


def check(jobs, kind):
    jobs.start(kind=kind)
    assert len(set(jobs.finish()["program"])) == 1


def on_ranks(ranks):
    """Return the scenario of so many ranks, for every kind of file."""

    def on(jobs, kind):
        check(jobs, kind)

    on.__name__ = f"test_on_{ranks}_ranks"
    test = scenario(f"program on {ranks} ranks", program=program)(on)
    return pytest.mark.parametrize("kind", ["cdf5", "chunked"])(test)


test_on_1_ranks, test_on_2_ranks, test_on_3_ranks = on_ranks(1), on_ranks(2), on_ranks(3)


def shuffled(comm, fl, where):
    """Ranks with selections of their own: one result of all, one each, or nothing shared."""
    from mpi4py import MPI

    path = where / "t.nc"
    if comm.rank == 0:
        write(climate(holes=False), path)
    comm.barrier()
    with fl.open(str(path)) as file, xr.open_dataset(path) as dataset:
        u = dataset["u"].load().astype("f8")
        mine = slice(4 + 5 * comm.rank, 9 + 5 * comm.rank)
        both = slice(4, 4 + 5 * comm.size)
        part = file["u"].isel(time=mine)
        same(part.reduce("sum", shuffle="to-one"), u.isel(time=both).sum())
        kept = part.reduce("max", over="lat", shuffle="to-one")
        same(kept, u.isel(time=both).max("lat"))
        low = part.reduce("argmin", shuffle="to-one")
        assert u.values[low["time_index"], low["lat_index"], low["lon_index"]] == low
        median = fl.ops.Quantile(0.5, exact=True, accuracy=0.2)
        same(part.reduce(median, shuffle="to-one").drop_vars("error"), u.isel(time=both).median())
        with pytest.raises(fl.InvalidArgument, match=r"several passes.*to-all"):
            part.reduce(median, shuffle="to-all")
        for options in [
            {"shuffle": "to-all"},
            {"mode": "independent"},
            {"local": True},
            {"comm": MPI.COMM_SELF},
        ]:
            same(part.reduce("mean", over="time", **options), u.isel(time=mine).mean("time"))
        if comm.rank == 0:  # the others are not there
            assert file["u"].reduce("count", local=True) == u.size
        comm.barrier()
        few = {"aggregators": 1, "buffer": "64 KiB", "threads": 1}
        same(file["u"].reduce("mean", over="time", **few), u.mean("time"))
        hints = {"cb_nodes": "1", "cb_buffer_size": "65536"}
        same(file["u"].reduce("mean", over="time", info=hints), u.mean("time"))


@scenario("program on 3 ranks", program=shuffled)
def test_selections_of_ranks(jobs):
    jobs.finish()


def error_of(call, *kinds):
    """Return the classes and the text of what a call raises."""
    try:
        call()
    except kinds as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error)
    return None


def at_odds(comm, fl, where):
    """One rank fails, in every way that it can; all get an error and go on."""
    whole = where / "t.nc"
    if comm.rank == 0:
        write(climate(), whole)
    comm.barrier()
    data = whole.read_bytes()
    odd = comm.rank == 1
    file = fl.open(whole)
    u = file["u"]

    def broken(values):
        if comm.rank == 0:  # a small file is read by the first rank alone
            raise ZeroDivisionError("only here")
        return values > 0

    def truncated(rank, early):
        own = where / f"of_rank_{comm.rank}_{early}"
        own.mkdir()
        os.chdir(own)  # one name, a file for each rank
        pathlib.Path("t.nc").write_bytes(data)
        mine = fl.open("t.nc")
        if not early:  # it shall fail in the middle of the scan
            assert mine["v"].coords
        if comm.rank == rank:
            os.truncate("t.nc", len(data) // 2)  # under the reader
        comm.barrier()
        mine["v"].reduce("mean", over="lat", shuffle="to-all")  # with the times, past the middle

    found = {
        "operator": error_of(lambda: u.reduce("add" if odd else "sum"), fl.Error),
        "axis": error_of(lambda: u.reduce("sum", "x" if odd else "lat"), fl.Error),
        "request": error_of(lambda: u.reduce("sum", "time" if odd else "lat"), fl.Error),
        "option": error_of(lambda: u.reduce("sum", **({"way": 1} if odd else {})), fl.Error),
        "mode": error_of(lambda: u.reduce("sum", mode="odd" if odd else "collective"), fl.Error),
        "modes": error_of(
            lambda: u.reduce("sum", mode="independent" if odd else "collective"), fl.Error
        ),
        "required": error_of(lambda: u.reduce("sum", min_count=1 + odd), fl.Error),
        "function": error_of(lambda: u.where(broken).reduce("sum"), fl.Error, ZeroDivisionError),
    }
    comm.barrier()
    found["count"] = int(u.reduce("count"))  # and all is well again
    found["truncated"] = error_of(lambda: truncated(1, early=True), fl.Error)
    found["truncated under way"] = error_of(lambda: truncated(0, early=False), fl.Error)
    return found


@scenario("program on 2 ranks", program=at_odds)
def test_an_error_on_one_rank_is_one_on_all(jobs):
    for rank, found in enumerate(jobs.finish()["program"]):
        assert found.pop("count") == 24 * 7 * 8
        for what, error in found.items():
            assert error is not None, (what, rank)
        assert "got 'add'" in found["operator"][1]
        assert "got 'x'" in found["axis"][1]
        assert "differ in the mode: got 'independent' on 1" in found["modes"][1]
        assert "1 are required" in found["required"][1]
        assert "only here" in found["function"][1], found["function"]
        for what in ("truncated", "truncated under way"):
            assert "DamagedFile" in found[what][0], found[what]


def environment_at_odds(comm, fl, where):
    """First the environment of one rank is invalid, then it only differs from the others'."""
    path = where / "t.nc"
    if comm.rank == 0:
        write(climate(), path)
    comm.barrier()
    found = {}
    for name, odd in [("FLUVIAL_ISA", 1), ("FLUVIAL_FILE_ACCESS", comm.size - 1)]:
        if comm.rank == odd:
            os.environ[name] = "odd"
        with fl.open(path) as file:
            found[name] = error_of(lambda file=file: file["u"].reduce("sum"), fl.InvalidArgument)
        os.environ.pop(name, None)
    if comm.rank == 0:
        os.environ["FLUVIAL_FILE_ACCESS"] = "copy"
    with fl.open(path) as file:
        found["count"] = int(file["u"].reduce("count"))
    return found


@scenario("program on 3 ranks", program=environment_at_odds)
def test_an_environment_that_makes_no_sense_on_one_rank(jobs):
    for found in jobs.finish()["program"]:
        assert found.pop("count") == 24 * 7 * 8
        for name, error in found.items():
            assert error is not None, name
            assert name in error[1]
            assert "'odd'" in error[1] or "got odd" in error[1]
            assert "Unset it" in error[1]


@scenario("program on 2 ranks", program=lambda comm, fl, where: several(comm, fl, where))
def test_several_files(jobs):
    jobs.finish()


def several(comm, fl, where):
    if comm.rank == 0:
        for i, part in enumerate((slice(9), slice(9, 10), slice(10, None))):
            write(climate().isel(time=part), where / f"t_{i}.nc", ["cdf5", "chunked", "cdf5"][i])
    comm.barrier()
    u = climate()["u"].astype("f8")
    with fl.open(f"{where}/t_*.nc") as file:
        found = file["u"].isel(time=slice(1, None, 2)).reduce(["max", "mean"], over=("lat", "lon"))
        expected = u.isel(time=slice(1, None, 2))
        np.testing.assert_allclose(found["mean"], expected.mean(("lat", "lon")), rtol=1e-5)
        np.testing.assert_allclose(found["max"], expected.max(("lat", "lon")))
