# SPDX-License-Identifier: Apache-2.0
"""What a series writes into files: openPMD, as other programs read it and as it is read here."""

import os
import pathlib
import resource
import shutil
import subprocess
import sys

import h5py
import numpy as np
import openpmd_api as io
import pytest
import xarray as xr

import fluvial as fl

MESH = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}
DTYPES = [*(f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)), "f2", "f4", "f8", "c8", "c16"]


def values(index, shape=(4, 6), dtype="f8"):
    return (np.arange(np.prod(shape)).reshape(shape) + 100 * index).astype(dtype)


def write_steps(name, steps=3, **options):
    with fl.open(str(name), "w", **options) as series:
        series.attrs["author"] = "somebody"
        for index in range(steps):
            with series.step(time=index / 4, dt=0.25, attrs={"timeUnitSI": 1e-15}) as step:
                assert (step.index, step.accepted) == (index, True)
                for number, component in enumerate("xy"):
                    attrs = {"unitSI": 2.5, "unitDimension": [1] + 6 * [0], **MESH}
                    step.put(f"meshes/E/{component}", values(index + number), attrs=attrs)
                step.put("meshes/rho", values(index, dtype="i4"))
                step.put("particles/e/position/x", values(index, (7,)), attrs={"unitSI": 1e-6})
                step.put("particles/e/weighting", np.ones(7, "f4"))
                step.put("energy", np.float64(index))


@pytest.fixture(params=["run.h5", "data%T.h5", "data_%06T.h5"])
def name(request, tmp_path):
    return str(tmp_path / request.param)


def test_what_was_written_is_read_again(name):
    write_steps(name)
    with fl.open(name) as series:
        assert series.attrs["author"] == "somebody"
        assert len(series) == 3
        for index, step in enumerate(series):
            assert (step.index, step.time, step.dt) == (index, index / 4, 0.25)
            assert step.attrs["timeUnitSI"] == 1e-15
            np.testing.assert_array_equal(step.meshes["E"].y.read(), values(index + 1))
            assert step.meshes["E"].x.attrs["unitSI"] == 2.5
            assert step.meshes["E"].attrs["unitDimension"] == [1] + 6 * [0]
            assert step.meshes["E"].x.dims == ("y", "x")
            np.testing.assert_array_equal(step.meshes["E"].x.coords["x"], 2.0 * np.arange(6))
            assert step.meshes["rho"].dtype == np.int32
            assert step["energy"].read() == index
            particles = step.particles["e"]
            np.testing.assert_array_equal(particles["position"].x.read(), values(index, (7,)))
            np.testing.assert_array_equal(particles["positionOffset"].x.read(), np.zeros(7))


@pytest.mark.parametrize("file", ["run.h5", "data%T.h5", "run.nc", "run.zarr"])
def test_a_step_that_is_open_at_the_end_is_an_error(tmp_path, file):
    """What was put into it would be lost without a word."""
    series = fl.open(str(tmp_path / file), "w")
    with series.step() as step:
        step.put("x", np.ones(4))
    series.step().put("x", np.ones(4))
    with pytest.raises(fl.InvalidArgument, match=r"closed while step 1 is open.*`with series"):
        series.close()
    series.close()
    with fl.open(str(tmp_path / file)) as series:
        assert [step["x"].sum() for step in series] == [4]


def test_any_component_says_what_belongs_to_its_record(tmp_path):
    path = str(tmp_path / "run.h5")
    with fl.open(path, "w") as series, series.step() as step:
        step.put("meshes/E/x", values(0))
        step.put("meshes/E/y", values(1), attrs={"gridSpacing": [0.5, 2.0], "unitSI": 3.0})
        step.put("meshes/E/z", values(2))
    with fl.open(path) as series:
        e = series.steps[0].meshes["E"]
        assert list(e.attrs["gridSpacing"]) == [0.5, 2.0]
        assert (e.x.attrs["unitSI"], e.y.attrs["unitSI"]) == (1.0, 3.0)
        np.testing.assert_array_equal(e.z.coords["x"], 2.0 * np.arange(6))


def test_openpmd_s_own_library_reads_it(name):
    write_steps(name)
    series = io.Series(name, io.Access.read_only)
    assert series.openPMD == "1.1.0"
    assert series.author == "somebody"
    assert [int(i) for i in series.iterations] == [0, 1, 2]
    for index, iteration in series.iterations.items():
        assert (iteration.time, iteration.time_unit_SI) == (index / 4, 1e-15)
        e = iteration.meshes["E"]
        assert e.axis_labels == ["y", "x"]
        assert e.grid_spacing == [0.5, 2.0]
        assert e["x"].unit_SI == 2.5
        found = e["x"].load_chunk()
        weights = iteration.particles["e"]["weighting"][io.Record_Component.SCALAR].load_chunk()
        series.flush()
        np.testing.assert_array_equal(found, values(index))
        np.testing.assert_array_equal(weights, np.ones(7))
    series.close()


def test_the_validator_of_openpmd_finds_no_error(name):
    write_steps(name)
    program = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    with fl.open(name) as series:
        paths = series.paths
    for path in paths:
        done = subprocess.run(
            [sys.executable, program, "-i", path], capture_output=True, text=True, check=False
        )
        assert "Result: 0 Errors" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_and_shape(tmp_path, dtype):
    path = tmp_path / "a.h5"
    shapes = [(), (1,), (5,), (0,), (3, 0, 2), (2, 3, 4, 5)]
    with fl.open(str(path), "w") as series, series.step() as step:
        for number, shape in enumerate(shapes):
            step.put(f"x{number}", values(1, shape, dtype))
    with fl.open(str(path)) as series, h5py.File(path) as file:
        for number, shape in enumerate(shapes):
            expected = values(1, shape, dtype)
            np.testing.assert_array_equal(series.steps[0][f"x{number}"].read(), expected)
            found = file[f"data/0/x{number}"]
            assert (found.dtype, found.shape) == (expected.dtype, shape)
            np.testing.assert_array_equal(found[()], expected)


def test_parts_of_any_cut_and_order(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.h5"
    for _ in range(20):
        shape = tuple(rng.integers(1, 9, rng.integers(1, 5)))
        whole = rng.random(shape)
        cuts = [np.unique([0, n, *rng.integers(0, n + 1, 2)]) for n in shape]
        parts = list(np.ndindex(*(len(c) - 1 for c in cuts)))
        rng.shuffle(parts)
        with fl.open(str(path), "w") as series, series.step() as step:
            for at in parts:
                begin = [int(c[i]) for c, i in zip(cuts, at, strict=True)]
                box = tuple(slice(int(c[i]), int(c[i + 1])) for c, i in zip(cuts, at, strict=True))
                part = whole[box]
                if rng.random() < 0.5:
                    step.put("x", part, offset=begin, shape=shape)
                else:
                    step.span("x", "f8", part.shape, offset=begin, shape=shape)[...] = part
        with fl.open(str(path)) as file:
            np.testing.assert_array_equal(file.steps[0]["x"].read(), whole)


def test_labelled_and_masked_arrays(tmp_path):
    path = str(tmp_path / "a.h5")
    labelled = xr.DataArray(values(0), dims=("lat", "lon"), attrs={"units": "K"})
    with fl.open(path, "w") as series, series.step() as step:
        step.put("t", labelled)
        step.put("m", np.ma.masked_greater(values(0), 5.0))
    with fl.open(path) as file:
        (step,) = file
        assert step["t"].attrs["units"] == "K"
        assert step["t"].dims == ("lat", "lon")
        assert step["m"].count() == 6


@pytest.mark.parametrize("name", ["a.h5", "a.nc", "a.nc4", "a.zarr", "a.bp"])
def test_bool_is_uint8_as_in_a_stream(tmp_path, name):
    if name == "a.bp":
        pytest.importorskip("adios2")
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    with fl.open(str(tmp_path / name), "w") as series, series.step() as step:
        step.put("mask", mask[:, ::-1])
        step.put("all", np.broadcast_to(np.True_, (2, 3)))
        step.put({"one": np.True_, "list": [True, False]})
        step.span("span", bool, (2, 2), shape=(2, 2))[...] = [[True, False], [False, True]]
    with fl.open(str(tmp_path / name)) as file:
        (step,) = file
        assert step["mask"].dtype == np.uint8
        np.testing.assert_array_equal(step["mask"].read(), mask[:, ::-1])
        np.testing.assert_array_equal(step["all"].read(), np.ones((2, 3)))
        np.testing.assert_array_equal(step["span"].read(), [[1, 0], [0, 1]])
        assert step["one"].read() == 1
        np.testing.assert_array_equal(step["list"].read(), [1, 0])


@pytest.mark.parametrize(
    "array",
    [
        *(np.array(["a"]), np.array([{}]), np.array(["2000"], "M8[s]"), np.array([1], "m8[s]")),
        *(np.zeros(2, "i4,f8"), np.zeros(2, np.longdouble)),
        *(np.ma.array(np.zeros(2, "i4,f8")), np.ma.array(np.zeros(2, "i4,f8"), mask=True)),
    ],
    ids=lambda array: array.dtype.kind,
)
def test_a_dtype_is_refused_as_a_stream_refuses_it(tmp_path, array):
    said, stream = [], {"directory": str(tmp_path), "readers": 0}
    for name, options in ((str(tmp_path / "a.h5"), {}), ("a", stream)):
        with fl.open(name, "w", **options) as series:
            refusal = pytest.raises(fl.WrongType, match="unsupported array")
            with refusal as refused, series.step() as step:
                step.put("x", array)
            said.append(str(refused.value))
    assert said[0] == said[1]


def test_attributes_stay_until_they_are_given_anew(tmp_path):
    path = str(tmp_path / "a.h5")
    with fl.open(path, "w") as series:
        for index in range(3):
            with series.step() as step:
                step.put("x", values(index), attrs={"a": index} if index != 1 else None)
    with fl.open(path) as file:
        assert [step["x"].attrs["a"] for step in file] == [0, 0, 2]


def test_what_cannot_be_written_is_refused_and_leaves_no_step(tmp_path):
    path = str(tmp_path / "a.h5")
    series = fl.open(path, "w")
    x = values(0)
    grids = [{"gridSpacing": [1.0, 2.0]}, {"gridSpacing": [1.0, 3.0]}]
    wrong = {
        "parts of 'x' are missing: got 12 of 24": [("x", x[:2], (0, 0), (4, 6))],
        "chunks of 'x' overlap: got 48 elements for 24": [("x", x), ("x", x)],
        "outside of the dataset": [("x", x, (1, 0), (4, 6))],
        "put otherwise before": [("x", x), ("x", x.astype("f4"))],
        "dimensions of 'x' do not fit": [("x", x, None, (24,))],
        "unsupported array": [("x", np.array(["a"]))],
        "single slashes": [("meshes//x", x)],
        "below the dataset 'x'": [("x", x), ("x/y", x)],
        "differ in gridSpacing": [
            (f"meshes/E/{c}", x, None, None, a) for c, a in zip("xy", grids, strict=True)
        ],
    }
    for message, puts in wrong.items():
        with pytest.raises((fl.InvalidArgument, TypeError), match=message), series.step() as step:
            for arguments in puts:
                step.put(*arguments)
    with pytest.raises(RuntimeError, match="of the user"), series.step() as step:
        step.put("x", values(0))
        raise RuntimeError("of the user")
    with series.step(time=5.0) as step:
        step.put("x", values(5))
    with pytest.raises(fl.InvalidArgument, match="the step has ended"):
        step.put("x", values(0))
    series.close()
    series.close()
    with pytest.raises(fl.InvalidArgument, match="the series is closed"):
        series.step()
    with fl.open(path) as file:
        (step,) = file
        assert (step.index, step.time) == (len(wrong) + 1, 5.0)


@pytest.mark.parametrize("file", ["a.h5", "a.nc", "a.nc4", "a.zarr", "a.bp"])
def test_a_series_without_a_step_is_a_file_without_steps(tmp_path, file):
    """Nothing of an earlier one is left, and it is read and followed as any other."""
    path = str(tmp_path / file)
    for values_ in [np.ones(4), None]:
        with fl.open(path, "w") as series:
            series.attrs["author"] = "somebody"
            if values_ is not None:
                with series.step() as step:
                    step.put("x", values_)
    assert os.listdir(tmp_path) == [file]
    with fl.open(path) as series:
        assert (len(series.steps), list(series), series.next()) == (0, [], None)
        assert series.attrs["author"] == "somebody"
    with fl.open(path, follow=True) as series:
        assert list(series) == []


def test_attributes_that_a_file_without_steps_cannot_have(tmp_path):
    for file, value in [("a.nc", ["a", "b"]), ("a.nc4", ["a", "b"]), ("a.h5", "a\0b")]:
        series = fl.open(str(tmp_path / file), "w")
        series.attrs["author"] = value
        with pytest.raises(fl.InvalidArgument, match="author"):
            series.close()
    assert {path.suffix for path in tmp_path.iterdir()} == {".writing"}  # which say why


def test_numbered_files_of_a_series_without_a_step_are_none(tmp_path):
    with fl.open(str(tmp_path / "a%T.h5"), "w") as series:
        series.attrs["author"] = "somebody"
    assert os.listdir(tmp_path) == []


def test_a_step_within_a_step_is_refused(tmp_path):
    with fl.open(str(tmp_path / "a.h5"), "w") as series, series.step() as step:
        step.put("x", values(0))
        with pytest.raises(fl.InvalidArgument, match="while another is open"):
            series.step()
    with fl.open(str(tmp_path / "a.h5")) as file:
        assert len(file) == 1


def test_numbered_files_that_are_there_are_refused(tmp_path):
    (tmp_path / "data7.h5").touch()
    with pytest.raises(fl.InvalidArgument, match=r"there already: got '.*data7.h5'"):
        fl.open(str(tmp_path / "data%T.h5"), "w")


@pytest.mark.parametrize("name", ["q%3T.h5", "q%0T.nc", "q%0123T.zarr", "q%99T.bp"])
def test_what_would_be_a_number_and_is_none_is_refused(tmp_path, name):
    with pytest.raises(fl.InvalidArgument, match=r"no number .*got '%\d+T' in .*%06T for six"):
        fl.open(tmp_path / name, "w")
    assert not list(tmp_path.iterdir())


def test_folders_that_are_missing_and_files_that_cannot_be_written(tmp_path):
    for name in ("a.h5", "data%T.h5", "a.nc", "a.nc4"):
        with pytest.raises(OSError, match="cannot be written: got No such file"):
            fl.open(str(tmp_path / "no" / name), "w")
    (tmp_path / "soon").mkdir()
    series = fl.open(str(tmp_path / "soon" / "a.h5"), "w")
    shutil.rmtree(tmp_path / "soon")
    with pytest.raises(OSError, match="cannot be written: got"), series.step() as step:
        step.put("x", values(0))
    series.close()


@pytest.mark.parametrize("bad", ["a.sst", "a.cdf", "a.hdf", "a.netcdf", "out/run"])
def test_other_formats_are_refused_at_once(tmp_path, monkeypatch, bad):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.InvalidArgument, match="files of this kind cannot be written"):
        fl.open(bad, "w")
    with pytest.raises(fl.InvalidArgument, match="engine 'raw'"):
        fl.open("a.h5", "w", engine="raw")


def test_the_engine_and_the_options_of_streams(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLUVIAL_ENGINE", "hdf5")
    write_steps("run", queue_steps=2, full="discard-newest", readers=3, step_timeout=5.0)
    assert pathlib.Path("run").is_file()
    assert len(fl.open("run")) == 3
    with pytest.raises(fl.InvalidArgument, match="unknown option"):
        fl.open("run", "w", compressor=3)
    with pytest.raises(TypeError, match="step_timeout"):
        fl.open("run", "w", step_timeout="long")


def test_descriptors_are_given_back(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for name in ("a.h5", "b%T.h5"):
        write_steps(tmp_path / name, steps=5)
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
