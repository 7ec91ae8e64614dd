# SPDX-License-Identifier: Apache-2.0
"""The command `fluvial` on what files may have but seldom do: odd numbers, names and targets."""

import json
import os
import stat
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

NAN = float("nan")


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a dataset as netCDF-4 and gives its path."""

    def write(name="a.nc", **variables):
        path = tmp_path / name
        xr.Dataset(variables).to_netcdf(path, engine="h5netcdf")
        return path

    return write


def rows(output):
    return json.loads(output, parse_constant=lambda word: pytest.fail(f"no JSON: {word}"))["rows"]


@pytest.mark.parametrize(
    ("values", "op", "expected"),
    [
        ([2**53 + 1, 5], "max", 2**53 + 1),
        ([2**53, 1], "sum", 2**53 + 1),
        ([-(2**53) - 1, 5], "min", -(2**53) - 1),
        (np.array([2**64 - 1, 5], "u8"), "max", 2**64 - 1),
        ([3**20, 3**19], "product", 3**39),
    ],
)
def test_results_of_integers_are_exact(call, written, values, op, expected):
    path = written(id=("x", values))
    code, out, err = call("reduce", path, "id", "--op", op, "--format", "json")
    assert (code, err) == (0, "")
    assert rows(out) == [{op: expected}]
    result = path.with_name("result.nc")
    assert call("reduce", path, "id", "--op", op, "--out", result)[0] == 0
    with xr.open_dataset(result) as found:
        assert int(found[op]) == expected


@pytest.mark.parametrize("kind", ["pipe", "device", "link to a pipe"])
def test_what_is_no_regular_file_is_not_replaced(call, written, tmp_path, kind):
    path, out = written(t=("x", [1.0, 2.0])), tmp_path / "out"
    if kind == "device":
        if os.geteuid() != 0:
            pytest.skip("only root makes devices")
        os.mknod(out, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    else:
        os.mkfifo(tmp_path / "fifo" if "link" in kind else out)
        if "link" in kind:
            out.symlink_to("fifo")
    before = os.stat(out).st_ino
    code, _, err = call("reduce", path, "t", "--out", out)
    assert code == 2
    assert "is no regular file: got " in err and "allowed: a new file" in err
    assert os.stat(out).st_ino == before and not stat.S_ISREG(os.stat(out).st_mode)


def test_what_a_link_leads_to_is_replaced(call, written, tmp_path):
    path, link, target = written(t=("x", [1.0, 2.0])), tmp_path / "link.nc", tmp_path / "target.nc"
    target.write_text("before")
    link.symlink_to("target.nc")
    assert call("reduce", path, "t", "--out", link)[0] == 0
    assert link.is_symlink()
    with xr.open_dataset(target) as found:
        assert float(found["mean"]) == 1.5


def test_a_result_that_finds_no_room_is_one_line(written, tmp_path):
    path, out = written(t=(("x", "y"), np.zeros((4, 5)))), tmp_path / "r.nc"
    words = f"{sys.executable} -m fluvial reduce {path} t --over x --out {out}"
    ended = subprocess.run(
        f"ulimit -f 4; {words}", shell=True, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "cannot be written: got File too large" in ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["a.nc"]


def test_complex_numbers_that_are_not_finite_are_json(call, tmp_path):
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file["c"] = np.array([complex(NAN, np.inf), 1 - 2j])
    _, out, _ = call("dump", tmp_path / "c.h5", "c", "--format", "json")
    assert [row["c"] for row in rows(out)] == [[None, "inf"], [1, -2]]


def test_a_dataset_called_as_an_error_is_dumped(call, written):
    path = written(median_error=("x", [0.5, 2.0]), median=("x", [1.25, 3.0]))
    code, out, err = call("dump", path, "median_error")
    assert (code, err) == (0, "")
    assert "median_error" in out and "±" not in out


def test_dimensions_called_as_operators_and_as_axes_of_results(call, written):
    values = np.arange(12.0).reshape(3, 4)
    path = written(v=(("mean", "count"), values), w=(("rank", "bin"), values))
    _, out, _ = call(
        *("reduce", path, "v", "--op", "mean,max", "--over", "count", "--format", "json")
    )
    expected = zip(values.mean(1), values.max(1), strict=True)
    assert rows(out) == [
        {"mean": i, "v_mean": mean, "max": high} for i, (mean, high) in enumerate(expected)
    ]
    for op, over, axis in (
        ("top_k(2)", "bin", "rank"),
        ("histogram(0:10:2)", "rank", "bin"),
        ("top_k(2),mean", "bin", "rank"),
    ):
        code, _, err = call("reduce", path, "w", "--op", op, "--over", over)
        assert code == 2
        assert f"called as an axis of the result of {op.split('(')[0]}: got '{axis}'" in err


def test_operators_that_differ_in_a_later_argument_are_both_there(call, written):
    path = written(t=("x", [1.0, 2.0, 4.0]))
    op = "quantile(0.5, 0.1),quantile(0.5,exact),median(exact),quantile(0.5)"
    _, out, _ = call("reduce", path, "t", "--op", op, "--format", "json")
    (row,) = rows(out)
    assert [key for key in row if not key.endswith("_error")] == [
        *("quantile_0.5", "quantile_0.5_exact", "median_exact"),
    ]


def test_ends_of_an_interval_of_two_kinds_are_refused(call, written):
    path = written(t=("lat", [1.0, 2.0]), lat=("lat", [60.0, 30.0]))
    for where in ("lat=abc:3", "lat=3:abc"):
        code, _, err = call("reduce", path, "t", "--where", where)
        assert code == 2 and "ends in text: got 'abc'; allowed: numbers" in err


def test_a_stream_is_not_reduced_by_the_command(call):
    for words in (["reduce", "melt", "v/x"], ["info", "melt", "frozen"]):
        code, _, err = call(*words)
        assert code == 2
        assert "no file, and streams are not" in err and "got 'melt'; allowed: files" in err


def test_years_select_of_times(call, written):
    times = np.array(["1999-12-31", "2000-01-01", "2000-12-31", "2001-06-01"], "M8[ns]")
    path = written(t=("time", [1.0, 2.0, 4.0, 8.0]), time=("time", times))
    for where, expected in (("time=2000", 6), ("time=2000:2001", 14), ("time=:1999", 1)):
        code, out, err = call(
            *("reduce", path, "t", "--op", "sum", "--where", where, "--format", "json")
        )
        assert (code, rows(out)) == (0, [{"sum": expected}]), err


def test_names_with_dollars_and_coordinates_with_gaps_are_drawn(call, written, tmp_path):
    values = ("y", "x"), np.arange(12.0).reshape(3, 4), {"units": "$m^{$"}
    path = written(
        **{"x^{$": values, "turned": values},
        y=("y", [1.0, NAN, 3.0]),
        x=("x", [1.0, 3.0, 2.0, 4.0]),
    )
    for words in (["x^{$"], ["turned"], ["turned", "--isel", "x=0"], ["x^{$", "--histogram", 4]):
        picture = tmp_path / "p.png"
        code, _, err = call("plot", path, *words, "-o", picture)
        assert (code, err.splitlines()) == (0, [f"fluvial: drawn: {picture}"]), words
        picture.unlink()


def test_an_encoding_without_some_characters(written, tmp_path):
    path = written(t=("x", [1.0, 2.0, 4.0], {"long_name": "Grüße ±"}))
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    for words in (["ls", path], ["info", path], ["reduce", path, "t", "--op", "quantile(0.3)"],
                  ["info", path, "--format", "json"], ["reduce", "--help"]):  # fmt: skip
        ended = subprocess.run(
            [sys.executable, "-m", "fluvial", *map(str, words)],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b""), words
        text = ended.stdout.decode("ascii")
        if "json" in words:
            (dataset,) = json.loads(text)["datasets"]
            assert dataset["attributes"]["long_name"] == "Grüße ±"


def test_a_dataset_of_a_step_is_reduced(call, tmp_path):
    """By the name that the other words have for it, and of numbered files too."""
    for name in ("run.h5", "run%T.h5"):
        with fl.open(str(tmp_path / name), "w") as series:
            for number in (0, 10, 20):
                with series.step(iteration=number) as step:
                    step.put("meshes/E/x", np.arange(12.0).reshape(3, 4) + number)
    for name in ("run.h5", "run%T.h5"):
        path = tmp_path / name
        words = ("reduce", path, "meshes/E/x", "--op", "mean,max")
        code, out, err = call(*words, "--step", 10, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)["rows"] == [{"mean": 15.5, "max": 21.0}]
        code, out, err = call(*words, "--step", 7)
        assert (code, out) == (2, "")
        assert err.endswith(": got 7; allowed: 0, 10, 20\n")
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert "--step" in err
        target = tmp_path / ("run.h5" if name == "run.h5" else "run20.h5")
        code, out, err = call(*words, "--step", 10, "--out", target)
        assert (code, out) == (2, "")
        assert "the destination is a source" in err
