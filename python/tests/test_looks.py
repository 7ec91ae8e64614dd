# SPDX-License-Identifier: Apache-2.0
"""The words that look at series (`ls`, `info`, `dump`, `plot`, `watch`), and `pipe` as a word."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import fluvial as fl

MESH = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [0.0, 0.0]}


def put(series, index):
    with series.step(time=index / 2, iteration=10 * index) as step:
        values = np.arange(12.0).reshape(3, 4) + 100 * index
        step.put("meshes/T", values, attrs={"unitSI": 2.0, **MESH})
        step.put("particles/e/position/x", np.linspace(0, 1, 5 + index))
        step.put("empty", np.empty(0))
        step.put("wave", np.array([1 + 2j]))


@pytest.fixture(params=["one.h5", "data%T.h5", "stream"])
def series(request, tmp_path, monkeypatch):
    """A series of each kind with two steps, of which a stream shows the second; its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    if request.param == "stream":
        with fl.open("s", "w", readers=0, queue_steps=1) as writer:
            put(writer, 0)
            put(writer, 1)
            before = writer.stats
            yield "s"
            after = writer.stats
            unlike = {key for key in before if before[key] != after[key]}
            assert not unlike  # no reader has been here
            put(writer, 2)
    else:
        with fl.open(request.param, "w") as writer:
            put(writer, 0)
            put(writer, 1)
        yield request.param


def rows(text):
    return json.loads(text)["rows"]


def test_ls(call, series):
    code, out, err = call("ls", series, "--format", "json")
    assert (code, err) == (0, "")
    found = {row["dataset"]: row for row in rows(out)}
    count = 1 if series == "s" else 2
    assert found["meshes/T"] == {
        **{"dataset": "meshes/T", "dtype": "float64", "shape": "3×4", "dims": "y, x"},
        **{"unit": 2.0, "steps": count},
    }
    assert call("ls", series, "meshes/*")[1].splitlines()[1].split()[:3] == [
        *("meshes/T", "float64", "3×4")
    ]
    for words in (["meshs/*"], ["meshes/*", "meshs/*"], ["-l", "meshes/*", "meshs/*"]):
        code, out, err = call("ls", series, *words)
        assert (code, out) == (2, "")
        assert "got 'meshs/*'" in err


def test_options_of_ls_that_fit_nothing_are_refused(call, series):
    for option in ("--steps", "--count"):
        code, _, err = call("ls", series, option, 1)
        assert (code, f"{option} without -l" in err) == (2, True)
    if series != "s":
        code, _, err = call("ls", series, "-l", "--steps", 7)
        assert (code, "no such step" in err, "got '7'; allowed: 0, 10" in err) == (2, True, True)
        code, _, err = call("ls", series, "-l", "--count", 2)
        assert (code, "allowed: --steps" in err) == (2, True)


def test_ls_with_extrema_and_means(call, series):
    code, out, _ = call("ls", "-l", series, "--format", "csv")
    assert code == 0
    found = {(int(r["step"]), r["dataset"]): r for r in csv.DictReader(io.StringIO(out))}
    row = found[10, "meshes/T"]
    assert [float(row[key]) for key in ("time", "min", "max", "mean")] == [0.5, 100, 111, 105.5]
    assert found[10, "empty"]["mean"] == found[10, "wave"]["mean"] == ""
    assert ((0, "meshes/T") in found) == (series != "s")


def test_info(call, series):
    code, out, err = call("info", series)
    assert (code, err) == (0, "")
    assert "float64" in out
    assert "meshes/T" in out
    found = json.loads(call("info", series, "--format", "json")[1])
    assert found["format"] == ("stream" if series == "s" else "HDF5")
    if series == "one.h5":
        return
    datasets = {d["name"]: d for d in found["datasets"]}
    assert datasets["meshes/T"]["shape"] == [3, 4]
    assert datasets["meshes/T"]["attributes"]["unitSI"] == 2.0
    assert found["step"] == (10 if series == "s" else 0)
    if series == "s":
        assert (found["status"]["steps_written"], found["status"]["queue_steps"]) == (2, 1)
        assert "queue 1 of 1 (block), 0 readers" in out
    else:
        assert (found["steps"], found["numbers"]) == (2, "0, 10")


def test_dump(call, series):
    words = [] if series == "s" else ["--step", 10]
    words += ["--isel", "y=1", "--where", "x=2:4", "--format", "csv"]
    code, out, _ = call("dump", series, "meshes/T", *words)
    assert (code, out) == (0, "x,meshes/T\n2.0,105.0\n4.0,106.0\n")
    code, _, err = call("dump", series, "meshes/T", "--rows", 11)
    assert code == 2
    assert "too many rows to be printed: got 12; allowed: 11" in err


def test_dump_of_a_coordinate(call, tmp_path):
    name = str(tmp_path / "c.nc")
    axes = {"time": [0.0, 6.0], "x": [1.5, 2.5, 3.5]}
    xr.Dataset({"T": (("time", "x"), np.ones((2, 3)))}, coords=axes).to_netcdf(name)
    code, out, _ = call("dump", name, "x", "--format", "csv")
    assert (code, out) == (0, "index,x\n0,1.5\n1,2.5\n2,3.5\n")
    with fl.open("rho", "w", directory=tmp_path, readers=0) as writer:
        with writer.step() as step:
            step.put("rho", np.arange(2.0))
        code, out, _ = call("dump", "rho", "rho", "--directory", tmp_path, "--format", "csv")
    assert code == 0
    assert out.splitlines()[1:] == ["0,0.0", "1,1.0"]


def test_plot(call, series, tmp_path):
    for number, words in enumerate(
        [
            ("meshes/T",),
            ("particles/e/position/x",),
            ("meshes/T", "--histogram", 4),
            ("meshes/T", "--isel", "y=0"),
        ]
    ):
        path = tmp_path / f"{number}.png"
        code, _, err = call("plot", series, *words, "-o", path)
        assert code == 0, err
        assert path.read_bytes().startswith(b"\x89PNG")
    code, _, err = call("plot", series, "wave", "-o", tmp_path / "w.png")
    assert (code, "nothing to draw: got complex128" in err) == (2, True)
    for name in ("w.nonsense", "w.gif", "w", "no/w.png"):
        code, _, err = call("plot", series, "meshes/T", "-o", tmp_path / name)
        assert (code, "the picture cannot be written" in err) == (2, True)
    assert not list(tmp_path.glob("w.*"))
    code, _, err = call("plot", series, "meshes/T", "-o", path, "--histogram", 10**8)
    assert (code, "1000000" in err) == (2, True)


def test_a_slice_of_many_axes_and_a_histogram_show_what_is_there(tmp_path, monkeypatch):
    from fluvial.cli import pictures

    drawn = []
    monkeypatch.setattr(pictures, "new_figure", lambda: figure(drawn))

    def figure(drawn):
        from matplotlib.figure import Figure

        drawn.append(Figure())
        return drawn[-1]

    values = np.arange(5 * 3 * 4000.0).reshape(5, 3, 4000)
    with fl.open(str(tmp_path / "a.h5"), "w") as series, series.step() as step:
        step.put("x", values)
    with fl.open(str(tmp_path / "a.h5")) as file:
        dataset = file.steps[0]["x"]
        pictures.draw(dataset, str(tmp_path / "a.png"), "x", None, False)
        pictures.draw(dataset, str(tmp_path / "b.png"), "x", 10, False)
    (mesh,) = drawn[0].axes[0].collections
    np.testing.assert_array_equal(np.asarray(mesh.get_array()).reshape(3, 2000), values[2][:, ::2])
    assert drawn[0].axes[0].get_title() == "x, dim_0 2"
    (stairs,) = drawn[1].axes[0].patches
    assert stairs.get_data().values.tolist() == [6000] * 10


def test_without_matplotlib_the_remedy_is_said(call, tmp_path, monkeypatch):
    with fl.open(str(tmp_path / "a.h5"), "w") as series:
        put(series, 0)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = call("plot", tmp_path / "a.h5", "meshes/T", "-o", tmp_path / "a.png")
    assert code == 2
    assert "pip install matplotlib" in err


def test_watch(call, series):
    code, out, _ = call("watch", series, "--count", 2, "--interval", 0.01, "--format", "json")
    assert code == 0
    first, *later = map(json.loads, out.splitlines())
    assert (first["steps"], first["steps_per_s"]) == (2, None)
    assert first["state"] == ("going on" if series == "s" else "ended")
    assert [(seen["steps"], seen["steps_per_s"]) for seen in later] == [(2, 0)] * (series == "s")
    if series == "s":
        assert (first["queue_depth"], first["queue_steps"], first["unread"]) == (1, 1, 1)
    assert "2 steps" in call("watch", series, "--count", 1)[1]


def test_watching_readers(call, tmp_path, monkeypatch):
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    with fl.open("s", "w", readers=0) as writer, fl.open("s") as reader:
        for index in range(3):
            put(writer, index)
        reader.next()
        _, out, _ = call("watch", "s", "--count", 1, "--format", "csv")
        (row,) = csv.DictReader(io.StringIO(out))
        assert (row["reader_state"], row["reader_lag_steps"]) == ("active", "2")
        _, out, _ = call("watch", "s", "--count", 1)
        assert "queue 3 of 4 (block)" in out
        assert "1 ranks, active, block): 1 steps, lag 2, 0 discarded  going on" in out


def test_watching_ends_with_the_stream(call, tmp_path, monkeypatch):
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    from fluvial.cli import watching

    with fl.open("s", "w", readers=0) as writer:
        put(writer, 0)
        monkeypatch.setattr(watching.time, "sleep", lambda _: writer.close())
        code, out, _ = call("watch", "s")
    assert code == 0
    assert [line.rpartition("  ")[2] for line in out.splitlines()] == ["going on", "ended"]


def states(out):
    """Return what the lines of a watch say last."""
    return [line.rpartition("  ")[2] for line in out.splitlines()]


def test_watching_ends_with_the_files(call, tmp_path, monkeypatch):
    from fluvial.cli import watching

    path = tmp_path / "a.h5"
    with fl.open(path, "w") as writer:
        put(writer, 0)
        monkeypatch.setattr(watching.time, "sleep", lambda _: writer.close())
        code, out, _ = call("watch", path)
    assert (code, states(out)) == (0, ["going on", "ended"])


def test_whether_files_of_other_programs_have_ended_is_unknown(call, tmp_path):
    path = tmp_path / "a.nc"
    xr.Dataset({"T": ("x", np.ones(3))}).to_netcdf(path)
    code, out, _ = call("watch", path, "--count", 3, "--interval", 0.01)
    assert (code, states(out)) == (0, ["unknown"] * 3)
    code, out, _ = call("watch", path, "--count", 3, "--interval", 0.01, "--format", "csv")
    assert [row["state"] for row in csv.DictReader(io.StringIO(out))] == ["unknown"] * 3


def test_messages_name_options_of_the_command(call, tmp_path, monkeypatch):
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    assert "within --wait=0.1 s" in call("ls", "nobody", "--wait", 0.1)[2]
    with fl.open(tmp_path / "a.h5", "w") as series:
        put(series, 0)
    err = call("pipe", tmp_path / "a.h5", "s", "--wait", 0.1)[2]
    assert "within --wait=0.1 s" in err and "or say --readers 0" in err
    (tmp_path / "raw.bin").write_bytes(b"words and numbers" * 9)
    err = call("info", tmp_path / "raw.bin")[2]
    assert "fluvial.open(…, raw=…)" in err and "open_raw" not in err


def test_help_shows_what_stands_in_brackets(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for word in ("ls", "watch", "pipe", "reduce"):
        assert re.search(r"\[default: [a-z6]", call(word, "--help")[1])
    assert "the newest" in call("dump", "--help")[1]


def test_what_is_not_there_is_an_error(call, tmp_path, monkeypatch):
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    code, _, err = call("ls", "nobody", "--wait", 0.1)
    assert (code, "no writer opened 'nobody'" in err) == (2, True)
    code, _, err = call("info", tmp_path / "f%T.h5")
    assert (code, "no such files" in err) == (2, True)
    with fl.open(str(tmp_path / "a.h5"), "w") as series:
        put(series, 0)
    code, _, err = call("dump", tmp_path / "a.h5", "meshes/T", "--step", 3)
    assert (code, "no such step" in err, "allowed: 0" in err) == (2, True, True)
    with fl.open("s", "w", readers=0):
        code, _, err = call("dump", "s", "x", "--wait", 0.1)
        assert (code, "no step of 's' came" in err) == (2, True)
        code, out, _ = call("info", "s", "--wait", 0.1)
        assert (code, "no step is there yet" in out) == (0, True)
        code, _, err = call("dump", "s", "x", "--step", 1)
        assert (code, "fluvial pipe" in err) == (2, True)
        code, _, err = call("ls", "-l", "s", "--steps", "1")
        assert (code, "--count" in err) == (2, True)


def test_reduce_refuses_to_print_millions_of_rows(call, tmp_path):
    import xarray as xr

    path = tmp_path / "a.nc"
    xr.Dataset({"t": (("time", "x"), np.ones((2, 1_000_001), "i1"))}).to_netcdf(path)
    code, out, err = call("reduce", path, "t", "--over", "time")
    assert (code, out) == (2, "")
    assert "too many rows to be printed: got 1,000,001; allowed: 1,000,000" in err
    assert "--out" in err
    code, _, err = call("reduce", path, "t", "--over", "time", "--out", tmp_path / "b.nc")
    assert (code, err) == (0, "")
    assert call("reduce", path, "t", "--format", "csv")[1] == "mean\n1.0\n"


def test_pipe(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with fl.open("a.h5", "w") as series:
        for index in range(6):
            put(series, index)
    words = "--steps", "10:50:20", "--datasets", "meshes/*", "--isel", "x=::2", "--dtype", "*=f4"
    code, out, err = call("pipe", "a.h5", "b%T.h5", *words)
    assert (code, out) == (0, "")
    assert err.startswith("fluvial: 2 steps, 0.0 MB, ")
    assert " to b%T.h5; " in err
    assert err.endswith(" s storing\n")
    with fl.open("b%T.h5") as file:
        assert file.steps.indices == [10, 30]
        assert file.steps[1]["meshes/T"].dtype == "f4"
        np.testing.assert_array_equal(file.steps[1]["meshes/T"].read()[0], [300, 302])
    code, _, err = call("pipe", "a.h5")
    assert (code, "the destination is missing: got 'a.h5'" in err) == (2, True)
    code, _, err = call("pipe", "a.h5", "c.h5", "--dtype", "f4", "--dtype", "meshes/*=f8")
    assert (code, "allowed: one dtype alone" in err) == (2, True)


def test_pipe_refuses_what_no_queue_does(call, tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as series:
        put(series, 0)
    code, _, err = call("pipe", tmp_path / "a.h5", tmp_path / "b.h5", "--full", "foo")
    assert (code, "--full: got 'foo'; allowed: 'block'" in err) == (2, True)
    assert not (tmp_path / "b.h5").exists()


def test_the_shell_completes_words():
    env = os.environ | {
        **{"_FLUVIAL_COMPLETE": "complete_bash", "COMP_WORDS": "fluvial pi", "COMP_CWORD": "1"}
    }
    done = subprocess.run(
        [sys.executable, "-m", "fluvial"], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["pipe"]


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("x=99", "no such label along 'x': got 99.0; allowed: 0.0 to 6.0. Give an interval"),
        ("x=1.3", "no such label along 'x': got 1.3; allowed: 0.0 to 6.0. Give an interval"),
        ("y=a", "no such label along 'y': got 'a'; allowed: one of the numbers 0.0 to 1.0"),
    ],
)
def test_a_label_that_is_not_there_is_told_in_our_words(call, series, label, said):
    code, _, err = call("dump", series, "meshes/T", "--where", label)
    assert code == 2
    assert said in err
    assert "index" not in err
