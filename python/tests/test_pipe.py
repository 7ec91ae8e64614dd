# SPDX-License-Identifier: Apache-2.0
"""`fluvial.pipe`: any series into any other, with nothing lost."""

import pathlib
import subprocess
import sys
import threading

import h5py
import netCDF4
import numpy as np
import pytest
from harness.written_run import write_run

import fluvial as fl

WAIT = {"step_timeout": 20, "rendezvous_timeout": 20}


@pytest.fixture
def example(tmp_path):
    """The file that openPMD's validator makes as its example: meshes, particles, constants."""
    program = pathlib.Path(sys.executable).with_name("openPMD_createExamples_h5")
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, capture_output=True)
    path = tmp_path / "example.h5"
    with h5py.File(path, "r+") as file:  # two iterations, whose numbers are not 0 and 1
        file.copy("data/0", "data/200")
        file.move("data/0", "data/100")
        file["data/200"].attrs["time"] = 7.0
        file["data/200/meshes/E/x"][...] = np.arange(32 * 64).reshape(32, 64)
    return str(path)


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """A name for a stream, whose contact file lies in a folder of its own."""
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    return "pipe-test"


def relayed(source, name, target, **options):
    """Pipe a source into a stream, and that into a target, in two threads."""
    failed = []

    def send():
        try:
            fl.pipe(source, name, writing=WAIT, **options)
        except fl.Error as error:
            failed.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        report = fl.pipe(name, target, reading=WAIT)
    finally:
        thread.join()
    assert not failed
    return report


def contents(path):
    """Return attributes and elements of all objects of an HDF5 file by path."""
    found = {}

    def note(name, item):
        attrs = {key: np.asarray(value).reshape(-1).tolist() for key, value in item.attrs.items()}
        found[name] = (attrs, None if isinstance(item, h5py.Group) else item[()])

    with h5py.File(path) as file:
        note("", file)
        file.visititems(note)
    return found


def assert_same(first, second):
    first, second = contents(first), contents(second)
    assert first.keys() == second.keys()
    for name, (attrs, values) in first.items():
        assert second[name][0] == attrs, name
        if values is None:
            assert second[name][1] is None
        else:
            assert second[name][1].dtype == values.dtype
            np.testing.assert_array_equal(second[name][1], values)


def validate(path, *extensions):
    program = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    done = subprocess.run(
        [sys.executable, program, "-i", path, *extensions],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Result: 0 Errors" in done.stdout, done.stdout + done.stderr


def test_a_file_through_a_stream_and_back_equals_its_source(example, stream, tmp_path):
    target = str(tmp_path / "back.h5")
    report = relayed(example, stream, target)
    assert report.steps == 2
    assert_same(example, target)
    validate(target, "--EDPIC")


def test_into_a_file_without_a_stream_between(example, tmp_path):
    target = str(tmp_path / "copy.h5")
    report = fl.pipe(example, target)
    assert (report.steps, report.total) == (2, 2)
    assert_same(example, target)


def test_numbered_files_keep_their_numbers(example, tmp_path):
    fl.pipe(example, tmp_path / "data%06T.h5")
    assert sorted(p.name for p in tmp_path.glob("data*")) == ["data000100.h5", "data000200.h5"]
    fl.pipe(tmp_path / "data%06T.h5", tmp_path / "one.h5")
    assert_same(example, tmp_path / "one.h5")


def test_readers_of_the_stream_get_numbers_and_groups(example, stream):
    thread = threading.Thread(target=fl.pipe, args=(example, stream), kwargs={"writing": WAIT})
    thread.start()
    with fl.open(stream, **WAIT) as series, fl.open(example) as file:
        for step, stored in zip(series, file, strict=True):
            assert (step.index, step.iteration) == (stored.iteration // 100 - 1, stored.iteration)
            assert step.attrs == stored.attrs
            assert step.groups == stored.groups
            assert step.groups["particles/electrons"]["particleShape"] == 3.0
            e, known = step.meshes["E"], stored.meshes["E"]
            assert e.attrs == known.attrs
            np.testing.assert_array_equal(e.x.read(), known.x.read())
    thread.join()


def test_particles_as_lammps_has_them(stream, tmp_path):
    """Numbers of atoms that change, scalar records, empty species, integers, no openPMD words."""
    source, target = str(tmp_path / "atoms.h5"), str(tmp_path / "back.h5")
    rng = np.random.default_rng(7)
    with fl.open(source, "w") as series:
        for count in (5, 0, 8):
            with series.step(time=float(count)) as step:
                for axis in "xyz":
                    step.put(f"particles/atoms/position/{axis}", rng.random(count))
                step.put("particles/atoms/id", np.arange(count, dtype="u8"))
                step.put("particles/atoms/type", np.ones(count, "i4"))
                step.put("box", np.eye(3))
    relayed(source, stream, target)
    assert_same(source, target)
    validate(target)


def test_steps_are_chosen_by_their_numbers(tmp_path):
    write_run(tmp_path / "a.h5", 10)
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", steps="2:9:3,9")
    with fl.open(str(tmp_path / "b.h5")) as file:
        assert file.steps.indices == [2, 5, 8, 9]
        assert file.steps[1]["energy"].read() == 5
    assert fl.pipe(tmp_path / "a.h5", tmp_path / "c%T.h5", steps=slice(7, None)).steps == 3


def test_datasets_are_chosen_by_name_and_pattern(tmp_path):
    write_run(tmp_path / "a.h5", 2)
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", datasets=["meshes/?", "energy"])
    with fl.open(str(tmp_path / "b.h5")) as file:
        assert sorted(file.steps[0]) == ["energy", "meshes/n"]
    with pytest.raises(fl.UnknownName, match=r"got 'enrgy'.*'energy'.*no step was written to"):
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", datasets="enrgy")


def test_a_region_keeps_its_coordinates(tmp_path):
    write_run(tmp_path / "a.h5", 2)
    a, b = str(tmp_path / "a.h5"), str(tmp_path / "b.h5")
    fl.pipe(a, b, datasets="meshes/*", isel={"x": slice(1, 6, 2)}, sel={"y": slice(1.5, 2.5)})
    with fl.open(a) as file, fl.open(b) as cut:
        whole, part = file.steps[1]["meshes/E/x"], cut.steps[1]["meshes/E/x"]
        expected = whole.isel(x=slice(1, 6, 2)).sel(y=slice(1.5, 2.5)).read()
        assert part.shape == (3, 3)
        np.testing.assert_array_equal(part.read(), expected)
        for dim in "xy":
            np.testing.assert_allclose(part.coords[dim], expected.coords[dim])
    fl.pipe(a, b, datasets="meshes/E/*", isel={"y": 2})
    with fl.open(b) as cut:
        assert cut.steps[0]["meshes/E/x"].dims == ("x",)
        np.testing.assert_array_equal(cut.steps[0]["meshes/E/x"].read(), np.arange(12.0, 18.0))
    with pytest.raises(fl.UnknownName, match="no dataset has the dimension: got 'z'"):
        fl.pipe(a, b, isel={"z": 0})
    with pytest.raises(fl.InvalidArgument, match="backwards"):
        fl.pipe(a, b, datasets="meshes/*", isel={"x": slice(None, None, -1)})


def test_dtypes_change_where_they_can(tmp_path):
    write_run(tmp_path / "a.h5", 3)
    a, b = str(tmp_path / "a.h5"), str(tmp_path / "b.h5")
    fl.pipe(a, b, dtype="f4")
    with fl.open(b) as file:
        step = file.steps[1]
        assert (step["meshes/E/x"].dtype, step["meshes/n"].dtype) == ("f4", "i4")
        np.testing.assert_array_equal(step["meshes/E/x"].read(), 100 + np.arange(24).reshape(4, 6))
    fl.pipe(a, b, dtype={"meshes/n": "i2"})
    with fl.open(b) as file:
        assert file.steps[1]["meshes/n"].dtype == "i2"
    with pytest.raises(fl.InvalidArgument, match="does not fit into int8: got 200 to 223"):
        fl.pipe(a, b, dtype={"meshes/n": "i1"})
    with fl.open(b) as file:  # the step before it is there, and whole
        assert file.steps.indices == [0, 1]
    with pytest.raises(fl.InvalidArgument, match="no dataset can become int8"):
        fl.pipe(a, b, dtype={"nothing": "i1"})


def test_constants_of_a_region_and_another_dtype_stay_constants(example, tmp_path):
    target = tmp_path / "b.h5"
    fl.pipe(example, target, datasets="particles/*/mass", isel={"dim_0": slice(0, 100)}, dtype="f4")
    with h5py.File(target) as file:
        mass = file["data/100/particles/electrons/mass"]
        assert isinstance(mass, h5py.Group)
        assert mass.attrs["value"].dtype == "f4"
        assert mass.attrs["shape"].tolist() == [100]


def test_a_constant_that_is_none_is_a_dataset(tmp_path):
    with fl.open(str(tmp_path / "a.h5"), "w") as series:
        for values in (np.ones(3), np.arange(3.0)):
            with series.step() as step:
                step.put("particles/e/mass", values, attrs={"value": 1.0, "shape": [3]})
    with h5py.File(tmp_path / "a.h5") as file:
        assert isinstance(file["data/0/particles/e/mass"], h5py.Group)
        assert file["data/1/particles/e/mass"][()].tolist() == [0, 1, 2]


def test_sources_become_one(tmp_path):
    write_run(tmp_path / "a.h5", 3)
    write_run(tmp_path / "b.h5", 2, first=5, prefix="b_")
    write_run(tmp_path / "c.h5", 2, prefix="c_")
    with pytest.raises(fl.InvalidArgument, match="a source is given twice"):
        fl.pipe([tmp_path / "a.h5", tmp_path / "a.h5"], tmp_path / "d.h5")
    report = fl.pipe([tmp_path / "a.h5", tmp_path / "c.h5"], tmp_path / "d.h5")
    assert (report.steps, report.total) == (3, 3)
    with fl.open(str(tmp_path / "d.h5")) as file:
        assert sorted(file.steps[1]) == [
            *("c_energy", "energy", "meshes/E/x", "meshes/c_E/x", "meshes/c_n", "meshes/n")
        ]
        assert sorted(file.steps[2]) == ["energy", "meshes/E/x", "meshes/n"]
    write_run(tmp_path / "e.h5", 1)
    with pytest.raises(fl.InvalidArgument, match="several sources have a dataset of one name"):
        fl.pipe([tmp_path / "a.h5", tmp_path / "e.h5"], tmp_path / "f.h5")


def test_netcdf_becomes_openpmd_with_elements_as_they_are_stored(tmp_path):
    xr = pytest.importorskip("xarray")
    values = np.array([[1.5, np.nan, 2.5], [0.5, 1.0, -1.0]])
    source, target = tmp_path / "t.nc", str(tmp_path / "t.h5")
    xr.Dataset(
        {"t": (("time", "x"), values, {"units": "K"})},
        {"time": np.array(["2000-01-01", "2000-01-02"], "M8[ns]"), "x": [1.0, 2.0, 4.0]},
        {"title": "packed"},
    ).to_netcdf(
        source,
        encoding={"t": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -99}},
        unlimited_dims=["time"],
    )
    fl.pipe(source, target)
    with fl.open(target) as file:
        assert file.attrs["title"] == "packed"
        step = file.steps[1]
        assert step["t"].stored_dtype == "i2"
        assert step["t"].dims == ("x",)
        np.testing.assert_array_equal(step["t"].read(), values[1])
        assert file.steps[0]["t"].attrs["units"] == "K"
        assert np.isnan(file.steps[0]["t"].read().values[1])


def test_steps_come_as_their_times_say(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr("fluvial.pipeline.pacing.serve", slept.append)
    monkeypatch.setattr("fluvial.pipeline.pacing.time.monotonic", lambda: 100.0)
    write_run(tmp_path / "a.h5", 4)
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", original_timing=True, speed=0.5)
    np.testing.assert_allclose(slept, [0.0005, 0.001, 0.0015])
    slept.clear()
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", rate=4)
    np.testing.assert_allclose(slept, [0.25, 0.5, 0.75])


def test_the_report_grows_from_step_to_step(tmp_path):
    write_run(tmp_path / "a.h5", 3)
    seen = []
    report = fl.pipe(
        tmp_path / "a.h5", tmp_path / "b.h5", on_step=lambda r: seen.append((r.steps, r.bytes))
    )
    of_one = 24 * 8 + 24 * 4 + 8
    assert seen == [(1, of_one), (2, 2 * of_one), (3, 3 * of_one)]
    assert report.bytes_per_second > 0


@pytest.mark.parametrize("name", ["records.zarr", "back.bp", "back.h5"])
def test_into_files_of_each_engine_and_back(tmp_path, name):
    """Of a series of openPMD, which says where it has its iterations; others have none."""
    if name.endswith((".zarr", ".bp")):
        pytest.importorskip({"zarr": "zarr", "bp": "adios2"}[name.rpartition(".")[2]])
    write_run(tmp_path / "a.h5", 3)
    fl.pipe(tmp_path / "a.h5", tmp_path / name)
    with fl.open(str(tmp_path / "a.h5")) as source, fl.open(str(tmp_path / name)) as copy:
        assert len(copy) == len(source) == 3
        for there, here in zip(source, copy, strict=True):
            assert here.time == there.time
            for dataset in there.names():
                values = here[dataset].read()
                np.testing.assert_array_equal(np.asarray(values), np.asarray(there[dataset].read()))
    again = tmp_path / "again.h5"
    fl.pipe(tmp_path / name, again)
    assert len(fl.open(str(again))) == 3


@pytest.mark.filterwarnings("ignore:.*cannot be safely cast")
@pytest.mark.parametrize("target", ["b.nc", "b.nc4", "b.zarr", "b.h5"])
@pytest.mark.parametrize("marks", [1e20, [1e20, -999.9], 9.96921e36, 3.4028235e38])
def test_numbers_that_stand_for_nothing_do_so_in_the_copy(tmp_path, target, marks):
    nothing = np.float32(np.atleast_1d(marks))
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        variable = file.createVariable("t", "f4", ("time", "x"))
        variable.missing_value = marks  # a float64, beside elements of float32
        variable.set_auto_mask(False)
        variable[0] = [1, nothing[0], nothing[-1], 3]
    fl.pipe(tmp_path / "a.nc", tmp_path / target)
    with fl.open(str(tmp_path / "a.nc")) as source, fl.open(str(tmp_path / target)) as copy:
        for series in (source, copy):
            assert float(series.steps[0]["t"].sum()) == 4.0


@pytest.mark.parametrize("target", ["b.nc", "b.nc4", "b.zarr", "b.h5"])
@pytest.mark.parametrize("dtype", ["i2", "f4", "u1"])
@pytest.mark.parametrize(("stored", "said"), [("i1", "true"), ("u1", "false")])
def test_integers_become_what_unsigned_says_that_they_are(tmp_path, target, dtype, stored, said):
    meant = np.array([[1, 200, 3, 255]], "u1") if said == "true" else np.array([[1, -56, 3, -1]])
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        variable = file.createVariable(
            "t", stored, ("time", "x"), fill_value=meant.astype(stored)[0, 3]
        )
        variable.setncattr("_Unsigned", said)
        variable.setncattr("scale_factor", 0.5)
        variable.set_auto_maskandscale(False)
        variable[0] = meant.astype(stored)[0]
    if said == "false" and dtype == "u1":  # negative numbers, which it cannot hold
        dtype = "i1"
    fl.pipe(tmp_path / "a.nc", tmp_path / target, dtype={"t": dtype})
    with fl.open(str(tmp_path / "a.nc")) as source, fl.open(str(tmp_path / target)) as copy:
        expected = 0.5 * meant[0].astype(float)
        expected[3] = np.nan
        for series in (source, copy):
            np.testing.assert_array_equal(series.steps[0]["t"].read(), expected)
        assert copy.steps[0]["t"].stored_dtype == dtype


@pytest.mark.filterwarnings("ignore:.*cannot be safely cast")
def test_attributes_that_only_some_of_the_elements_can_be_keep_those(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        variable = file.createVariable("t", "i2", ("time", "x"))
        variable.missing_value = np.array([-1, 99_999], "i4")
        variable.set_auto_mask(False)
        variable[0] = [1, -1, 3]
    fl.pipe(tmp_path / "a.nc", tmp_path / "b.zarr")
    with fl.open(str(tmp_path / "b.zarr")) as copy:
        assert copy.steps[0]["t"].attrs["missing_value"] == [-1]
        assert int(copy.steps[0]["t"].sum()) == 4


def test_species_with_other_numbers_of_particles_go_into_records(tmp_path):
    counts = {"e": 5, "i": 3}
    with fl.open(str(tmp_path / "a.h5"), "w") as series:
        for index in range(2):
            with series.step() as step:
                for species, count in counts.items():
                    step.put(f"particles/{species}/position/x", np.arange(count) + 10 * index)
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.zarr")
    with fl.open(str(tmp_path / "b.zarr")) as copy:
        for species, count in counts.items():
            dataset = copy.steps[1][f"particles/{species}/position/x"]
            assert dataset.dims == (f"particles_{species}_position_x_dim_0",)
            np.testing.assert_array_equal(dataset.read(), np.arange(count) + 10)
