# SPDX-License-Identifier: Apache-2.0
"""The command `fluvial`: what it prints, writes and refuses."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from fluvial.launch import Launcher
from reading_files.climate import climate, same, write

import fluvial as fl


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(climate(), tmp_path_factory.mktemp("files") / "t.nc")


@pytest.fixture(scope="module")
def theirs(path):
    with xr.open_dataset(path) as dataset:
        yield dataset.load().astype("f8")


def table(text):
    """Return the lines of a printed table, cell by cell."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def test_a_table(call, path, theirs):
    words = "--op", "mean,max", "--over", "lat,lon", "--where", "time=2000-03:2000-05"
    code, out, err = call("reduce", path, "u", *words)
    assert (code, err) == (0, "")
    header, *rows = table(out)
    assert header == ["time", "mean", "max"]
    u = theirs["u"].sel(time=slice("2000-03", "2000-05"))
    assert [row[0] for row in rows] == [str(t)[:10] for t in u["time"].values]
    assert [float(row[1]) for row in rows] == pytest.approx(u.mean(("lat", "lon")).values)
    assert [float(row[2]) for row in rows] == pytest.approx(u.max(("lat", "lon")).values)


def test_operators_of_several_options(call, path):
    _, out, _ = call("reduce", path, "u", "--op", "mean,min", "--op", "max")
    assert table(out)[0] == ["mean", "min", "max"]


def test_a_slice_against_the_coordinate_is_a_warning(call, path):
    code, _, err = call("reduce", path, "u", "--where", "lon=180:90")
    assert code == 0
    assert "nothing is selected: 'lon' increases, from" in err
    assert "select slice(90.0, 180.0)" in err


def test_rows_without_coordinates_have_positions(call, tmp_path):
    path = tmp_path / "x.nc"
    values = np.arange(6.0).reshape(1, 2, 3)
    xr.Dataset({"a": (("t", "y", "x"), values)}, {"x": [10, 20, 30]}).to_netcdf(path)
    _, out, _ = call("reduce", path, "a", "--over", "t")
    assert table(out) == [
        ["y", "x", "mean"],
        *([str(y), str(10 * x + 10), str(3 * y + x)] for y in range(2) for x in range(3)),
    ]


def test_json(call, path, theirs):
    words = "--op", "min,argmin,quantile(0)", "--groupby", "time.season", "--over", "0,1,2"
    code, out, _ = call("reduce", path, "u", *words, "--format", "json")
    assert code == 0
    found = json.loads(out)
    assert found["dataset"] == "u"
    expected = theirs["u"].groupby("time.season").min(...)
    for row, low in zip(found["rows"], expected, strict=True):
        assert row["season"] == low["season"]
        assert row["min"] == row["argmin"] == row["quantile_0"] == float(low)
        at = {d: row[f"argmin_{d}"] for d in ("lat", "lon")} | {"time": row["argmin_time"]}
        assert theirs["u"].sel(at) == low
    code, out, _ = call("reduce", path, "temperature", "--isel", "level=0", "--over", "time",
                        "--where", "lat=25", "--where", "lon=135", "--format", "json")  # fmt: skip
    (row,) = json.loads(out)["rows"]
    assert row["mean"] is None  # never a value there
    assert (row["lat"], row["level"]) == (25, 850)


def test_netcdf_output(call, path, theirs, tmp_path):
    out = tmp_path / "r.nc"
    code, printed, _ = call(
        *("reduce", path, "temperature", "--op", "mean,std(1)", "--over", "time"),
        *("--where", "lat=-30:50", "--isel", "lon=::2", "--mask", "temperature > 260"),
        *("--weights", "cos(lat)", "--out", out),
    )
    assert (code, printed) == (0, "")
    assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]
    t = theirs["temperature"].sel(lat=slice(50, -30)).isel(lon=slice(None, None, 2))
    with xr.open_dataset(out) as found:
        same(found["mean"], t.where(t > 260).mean("time"))
        assert found["mean"].attrs["units"] == "K"
        assert found["mean"].attrs["cell_methods"] == "time: mean"
        assert found["lat"].attrs["units"] == "degrees_north"
        assert "fluvial reduce" in found.attrs["history"]


def test_several_files(call, tmp_path, theirs):
    for i, part in enumerate((slice(7), slice(7, None))):
        write(climate().isel(time=part), tmp_path / f"t_{i}.nc")
    for files in ([f"{tmp_path}/t_*.nc"], [tmp_path / "t_0.nc", tmp_path / "t_1.nc"]):
        _, out, _ = call("reduce", *files, "u", "--op", "max,count", "--resample", "time=YS",
                         "--over", "time,lat,lon")  # fmt: skip
        high = [float(row[1]) for row in table(out)[1:]]
        assert high == pytest.approx(theirs["u"].resample(time="YS").max(...).values, rel=1e-6)


def test_info(call, path, tmp_path):
    code, out, _ = call("info", path)
    assert code == 0
    assert "netCDF classic (CDF-5)" in out
    assert "time 24, level 3, lat 7, lon 8" in out
    assert "big-endian" in out
    assert "standard_name" not in out
    assert "temperature:standard_name = 'air_temperature'" in call("info", path, "-a")[1]
    described = json.loads(call("info", path, "--format", "json")[1])
    assert described["dimensions"] == {"time": 24, "level": 3, "lat": 7, "lon": 8}
    (u,) = [d for d in described["datasets"] if d["name"] == "u"]
    assert (u["dtype"], u["shape"], u["attributes"]["units"]) == ("float32", [24, 7, 8], "m s-1")
    chunked = write(climate(), tmp_path / "c.nc", "chunked")
    assert "chunks 5×2×3×8, shuffle, deflate" in call("info", chunked)[1]


def test_version_and_help(call):
    assert call("--version") == (0, f"fluvial {fl.__version__}\n", "")
    for words in [("--help",), ("reduce", "--help"), ("info", "-h")]:
        code, out, _ = call(*words)
        assert code == 0
        assert "Usage" in out
        assert "bool" not in out, "flags take no value"
    assert "--groupby" in call("reduce", "--help")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reduce", "{}", "wind"], "got 'wind'; allowed: 'temperature'"),
        (["reduce", "{}"], "the dataset is missing"),
        (["reduce", "nowhere.nc", "u"], "No such file"),
        (["reduce", "{}", "u", "--op", "add"], "got 'add'; allowed: 'sum'"),
        (["reduce", "{}", "u", "--op", "quantile(x)"], r"got 'quantile\(x\)'"),
        (["reduce", "{}", "u", "--op", "histogram"], "no such operator: got 'histogram'"),
        (["reduce", "{}", "u", "--op", "meen"], "Did you mean 'mean'"),
        (["reduce", "{}", "u", "--op", "a"], r" 'std',.* 'top_k',.* 'std\(1\)', 'variance\(1\)'$"),
        (["reduce", "{}", "u", "--op", "histogram(10:0:5)"], r"got 'histogram\(10:0:5\)'.*first"),
        (["reduce", "{}", "u", "--aggregators", 99999999999], "allowed: 0 to 2147483647"),
        (["reduce", "{}", "u", "--isel", "lat=0", "--isel", "lat=1"], "--isel of a dim.*'lat'"),
        (["reduce", "{}", "u", "--where", "lon=0", "--where", "lon=1"], "--where of a dim.*'lon'"),
        (["reduce", "{}", "u", "--over", "x"], "got 'x'; allowed: 'time'"),
        (["reduce", "{}", "u", "--where", "lat"], "got 'lat'; allowed: DIM=LABEL"),
        (
            ["reduce", "{}", "u", "--where", "lat=10"],
            r"no such label along 'lat': got 10.0.*\(FROM:TO\), or the nearest one: --nearest",
        ),
        (["reduce", "{}", "u", "--isel", "lat=a"], "got 'lat=a'; allowed: DIM=INDEX"),
        (["reduce", "{}", "u", "--mask", "u"], "cannot read the condition: got 'u'"),
        (["reduce", "{}", "u", "--weights", "lat lon"], "cannot read the weights"),
        (["reduce", "{}", "u", "--groupby", "time.day", "--resample", "time=MS"], "one of them"),
        (["reduce", "{}", "u", "--buffer", "big"], "got 'big'"),
        (
            ["reduce", "{}", "u", "--memory", "64QB"],
            "memory: .*'64QB'; allowed: a number, alone or",
        ),
        (["reduce", "{}", "u", "--memory=-1MiB"], "memory_bytes is out of range: got -1048576"),
        (["reduce", "{}", "u", "--memory", "1e30"], "memory is out of range: got '1e30'; allowed"),
        (["reduce", "{}", "u", "--buffer", "9" * 23], "buffer is out of range: got '999"),
        (["reduce", "{}", "u", "--out", "no/such/folder/r.nc"], "cannot write the result"),
        (["reduce", "{}", "u", "--out", "r.csv"], "got 'r.csv'; allowed: .*'r.nc'.*--format csv"),
        (["reduce", "{}", "u", "--out", "r.Json"], "as netCDF: got 'r.Json'; allowed: "),
        (["info", "nowhere.nc"], "No such file"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(call, path, words, message):
    code, out, err = call(*(path if word == "{}" else word for word in words))
    assert (code, out) == (2, "")
    assert err.startswith("fluvial: ")
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_memory_and_reproducible_reach_the_scan(call, path, monkeypatch):
    seen = {}
    real = fl._core.ScanRequest

    def watched(**words):
        seen.update(words)
        return real(**words)

    monkeypatch.setattr(fl._core, "ScanRequest", watched)
    assert call("reduce", path, "u", "--memory", "32MiB")[0] == 0
    assert (seen["memory_bytes"], seen["reproducible"]) == (32 << 20, False)
    assert call("reduce", path, "u", "--reproducible")[0] == 0
    assert seen["reproducible"]


def test_wrong_options_exit_with_2(call, path):
    code, _, err = call("reduce", path, "u", "--colour")
    assert code == 2
    assert "--colour" in err


def test_warnings_are_one_line(call, tmp_path):
    dataset = climate()
    dataset["n"].attrs["missing_value"] = 1e30
    code, _, err = call("reduce", write(dataset, tmp_path / "t.nc"), "n")
    assert code == 0
    assert re.fullmatch(r"fluvial: 'n': missing_value is ignored.*\n", err)


def test_a_program_of_its_own(path, theirs):
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "fluvial", "reduce", path, "u"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert float(table(done.stdout)[1][0]) == pytest.approx(float(theirs["u"].mean()))
    wrong = subprocess.run(
        [*command[:-1], "w"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert wrong.returncode == 2
    assert "\x1b[31m" in wrong.stderr  # red
    assert "Traceback" not in wrong.stderr


@pytest.mark.any_mpi
def test_under_mpiexec(path, theirs, tmp_path):
    launcher = Launcher.detect()
    words = [sys.executable, "-m", "fluvial", "reduce", path, "temperature", "--over", "time"]
    with open(tmp_path / "out", "w") as out:
        job = [*words, "--out", str(tmp_path / "r.nc")]
        with launcher.start(2, job, timeout=60, stdout=out, stderr=out) as running:
            assert running.wait() == 0, (tmp_path / "out").read_text()
        with launcher.start(2, [*words, "--op", "add"], timeout=60, stderr=out) as running:
            assert running.wait() != 0
    with xr.open_dataset(tmp_path / "r.nc") as found:
        same(found["mean"], theirs["temperature"].mean("time"))
    assert (tmp_path / "out").read_text().count("fluvial: no such operator: got 'add'") == 1


def test_the_launcher_that_is_installed(path):
    command = pathlib.Path(os.environ.get("FLUVIAL_PREFIX", "."), "bin", "fluvial")
    environment = os.environ | {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    out = subprocess.check_output([command, "--version"], text=True, env=environment, timeout=60)
    assert out == f"fluvial {fl.__version__}\n"


def test_histograms_are_rows(call, path, theirs):
    _, out, _ = call("reduce", path, "u", "--op", "histogram(-8:8:4)")
    header, *rows = table(out)
    counts = [int(row[header.index("histogram_-8_8_4")]) for row in rows]
    assert counts == np.histogram(theirs["u"], np.linspace(-8, 8, 5))[0].tolist()


def test_reduce_refuses_to_write_over_what_it_reads(call, tmp_path):
    path = write(climate(), tmp_path / "t.nc")
    before = pathlib.Path(path).read_bytes()
    (tmp_path / "link.nc").symlink_to(path)
    for out in (path, tmp_path / "link.nc"):
        code, _, err = call("reduce", path, "temperature", "--out", out)
        assert code != 0 and "the destination is a source" in " ".join(err.split())
    assert pathlib.Path(path).read_bytes() == before


def test_reduce_looks_at_the_folder_of_its_result_before_it_reads(
    call, path, tmp_path, monkeypatch
):
    from fluvial.scan.file_dataset import FileDataset

    monkeypatch.setattr(FileDataset, "start", lambda *_, **__: pytest.fail("it has read"))
    for out in (tmp_path / "no" / "mean.nc", tmp_path):
        code, _, err = call("reduce", path, "temperature", "--out", out)
        assert code != 0 and "cannot write the result" in " ".join(err.split())


def test_reduce_writes_bools_of_attributes_as_numbers(call, tmp_path):
    path, out = tmp_path / "b.h5", tmp_path / "mean.nc"
    with fl.open(path, "w") as series, series.step(time=0.0) as step:
        step.put("x", np.arange(3.0), attrs={"valid": True})
    code, _, err = call("reduce", path, "data/0/x", "--out", out)
    assert code == 0, err
    with xr.open_dataset(out) as result:
        assert [int(v.attrs["valid"]) for v in result.values() if "valid" in v.attrs] == [1]


def test_reduce_says_how_to_name_numbered_files(call, tmp_path):
    code, _, err = call("reduce", tmp_path / "w_b%T.h5", "x")
    assert code != 0 and "numbered series" in err and "w_b*.h5" in "".join(err.split())


@pytest.mark.parametrize("name", ["x.zarr", "x%T.zarr"])
def test_info_counts_the_bytes_of_a_folder(call, tmp_path, name):
    pytest.importorskip("zarr")
    with fl.open(tmp_path / name, "w") as series, series.step(time=0.0) as step:
        step.put("x", np.arange(5000.0))
    code, said, err = call("info", tmp_path / name, "--format", "json")
    assert code == 0, err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert json.loads(said)["bytes"] == sum(path.stat().st_size for path in files)


def test_a_file_whose_name_is_no_text_is_not_proposed(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (b"u\xff.py", b"nosuck.py"):
        pathlib.Path(os.fsdecode(name)).touch()
    for words in (["nosuch.py"], ["-m", "nosuch"]):
        code, _, err = call("run", *words)
        assert (code, err.count("\n")) == (2, 1)
        assert "Did you mean 'nosuck" in err


SWIFT = '(float t) f() "leaves";\ntrace(f());\n'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["flow", "--seed", -1], "--seed: got -1; allowed: 0 to 4,294,967,295"),
        (["flow", "--seed", 10**20], "--seed: got 1000"),
        (["flow", "--ranks", 10**20], "--ranks: got 1000.*; allowed: 1 to 1,000,000"),
        (["flow", "--ranks", 511, "--load", "sweep"], "got 511; allowed: 512 to 1,000,000"),
        (["flow", "-n", 10**5, "--load", "arriving"], "got 100000; allowed: 1 to 10,000"),
        (["flow", "--rounds", 10**20], "--rounds: got 1000.*; allowed: 1 to 10,000"),
        (["script", "-n", 2, "--seed", -1, "--model", "m.py", "a.swift"], "--seed: got -1"),
        (["script", "-n", 99999999, "--model", "m.py", "a.swift"], "allowed: 1 to 1,000,000"),
    ],
)
def test_numbers_that_no_simulation_bears_are_refused(call, words, message):
    code, out, err = call("simulate", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)


def test_the_example_of_simulate_script_is_what_works(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("figure9.swift").write_text(SWIFT)
    pathlib.Path("leaves.py").touch()
    pathlib.Path("model.py").write_text("def f(ranks):\n    return 1.5\n")
    monkeypatch.setenv("COLUMNS", "200")
    shown = call("simulate", "script", "--help")[1]
    (example,) = re.findall(r"fluvial (simulate script .*swift)", shown)
    code, out, err = call(*example.split())
    assert (code, out) == (0, "trace: 1.5\n"), err
    assert pathlib.Path("figure10.png").exists()


@pytest.mark.parametrize("words", [["info", "{}"], ["dump", "{}", "u"], ["--version"], ["--help"]])
def test_output_that_cannot_be_written_is_one_line(path, words):
    words = [path if word == "{}" else word for word in words]
    command = shlex.join([sys.executable, "-m", "fluvial", *words])
    full = subprocess.run(
        f"{command} > /dev/full", shell=True, capture_output=True, text=True, check=False
    )
    assert (full.returncode, full.stderr.count("\n")) == (2, 1), full.stderr
    assert "the output cannot be written: got 'No space left on device'" in full.stderr
    closed = subprocess.run(
        f"{command} <&- >&-", shell=True, capture_output=True, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, "")
