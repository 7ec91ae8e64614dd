# SPDX-License-Identifier: Apache-2.0
"""Options that a job script gives, in a file, in text or by the environment."""

import json
import os

import numpy as np
import pytest

import fluvial as fl

TOML = """
engine = "stage"
queue_steps = 2
start = "next"          # of readers, when both jobs read this file

[series.melt]
engine = "hdf5"
path = "out/melt%T.h5"

[series."run.h5"]
path = "else.h5"
"""
AS_DICT = {
    "engine": "stage",
    "queue_steps": 2,
    "start": "next",
    "series": {
        "melt": {"engine": "hdf5", "path": "out/melt%T.h5"},
        "run.h5": {"path": "else.h5"},
    },
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("out")
    return tmp_path


def write(name, **options):
    with fl.open(name, "w", **options) as series:
        for index in range(2):
            with series.step(time=float(index)) as step:
                step.put("x", np.arange(3) + index)


def given(how, monkeypatch):
    """Return what a call is given, or nothing where the environment says it."""
    suffix = ".json" if "JSON" in how else ".toml"
    text = json.dumps(AS_DICT) if "JSON" in how else TOML
    with open(f"run{suffix}", "w", encoding="utf-8") as file:
        file.write(text)
    if how.startswith("environment"):
        monkeypatch.setenv("FLUVIAL_OPTIONS", text if "text" in how else f"run{suffix}")
        return {}
    said = {"text": text, "dict": AS_DICT}.get(how.split()[0], f"run{suffix}")
    return {"options": said}


@pytest.mark.parametrize(
    "how",
    [
        *("file of TOML", "file of JSON", "text of TOML", "text of JSON", "dict"),
        *("environment, file of TOML", "environment, text of JSON"),
    ],
)
def test_one_program_for_file_and_stream(how, monkeypatch):
    options = given(how, monkeypatch)
    write("melt", **options)
    assert sorted(os.listdir("out")) == ["melt0.h5", "melt1.h5"]
    with fl.open("melt", **options) as series:
        assert [int(step["x"].sum()) for step in series] == [3, 6]
    with fl.open("other", "w", readers=0, directory=".", **options) as series:
        assert isinstance(series, fl.WriteSeries)


def test_what_the_call_says_itself_holds_before_it(monkeypatch):
    text = 'engine = "stage"\n[series.melt]\nengine = "stage"\nstart = "first"\ndecode = false'
    monkeypatch.setenv("FLUVIAL_OPTIONS", text)
    monkeypatch.setenv("FLUVIAL_ENGINE", "raw")
    write("melt", engine="hdf5")
    with fl.open("melt", engine="hdf5", start="next", decode=True) as series:
        assert len(series) == 2
    write("melt", options='engine = "hdf5"')  # before the environment
    with fl.open("melt", options='engine="hdf5"') as series:
        assert series["data/1/x"].attrs == {}
    write("run.h5", options={"series": {"run.h5": {"path": "else.h5"}}}, engine="hdf5")
    assert os.path.exists("else.h5") and not os.path.exists("run.h5")
    monkeypatch.setenv("FLUVIAL_OPTIONS", "")
    with pytest.raises(fl.InvalidArgument, match=r"engine 'raw' \(of FLUVIAL_ENGINE\)"):
        write("melt")


def test_options_of_a_file_reach_the_series(monkeypatch):
    path = "packed.nc"
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        packed = file.createVariable("p", "i2", ("x",))
        packed.set_auto_maskandscale(False)
        packed.scale_factor = 0.5
        packed[:] = [2, 4]
    with fl.open(path) as file:
        assert file["p"].sum() == 3
    with fl.open(path, options="decode = false\nqueue_steps = 7") as file:
        assert file["p"].sum() == 6
    with pytest.raises(fl.InvalidArgument, match=r"queue_steps.*got 0; allowed: 1 to 512"):
        fl.open("s", "w", options="queue_steps = 0")


REFUSED = {
    "qeue_steps = 2": r"unknown option in options: got 'qeue_steps'.*'queue_steps'\?",
    '[series.melt]\nenigne = "hdf5"': r"in options, series 'melt': got 'enigne'.*mean 'engine'\?",
    '[series.run.h5]\nengine = "hdf5"': r"series 'run': got 'h5'.*quoted, as in \[series",
    "series = 3": "'series' in options has a type.*got 3; allowed: a table for each series",
    "series.melt = 3": "'series.melt' in options has a type.*got 3",
    'engine = "hdf6"': "unknown engine of options: got 'hdf6'; allowed: 'stage', 'hdf5'",
    "engine = hdf5": r"options cannot be read as TOML: got .*line 1",
    '{"engine": "hdf5", "engine": "zarr"}': r"read as JSON: got the name 'engine' twice",
    '{"step_timeout": NaN}': r"read as JSON: got NaN, which JSON does not have",
    '{"engine": ': r"options cannot be read as JSON: got .*line 1",
    '{"a":' * 5000 + "1" + "}" * 5000: "options cannot be read|unknown option",
    "path = 3": "path of options has a type",
    'path = "a\\u0000"': "path of options cannot be used",
    "nowhere.toml": "no such file of options: got 'nowhere.toml'",
    "out": "'out' cannot be read: got Is a directory",
    "binary.toml": "'binary.toml' cannot be read: got bytes that are no UTF-8",
    "list.json": r"'list.json' has a type that cannot be used: got \[1\]",
    "wrong.toml": "unknown option in 'wrong.toml': got 'engin'.*Did you mean 'engine'",
}


@pytest.mark.parametrize("said", REFUSED)
@pytest.mark.parametrize("mode", ["r", "w"])
def test_what_cannot_be_is_refused_at_once(said, mode):
    with open("binary.toml", "wb") as file:
        file.write(b"\xff\xfe\x00")
    for path, text in (("list.json", "[1]"), ("wrong.toml", 'engin = "hdf5"')):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with pytest.raises(fl.Error, match=REFUSED[said]):
        fl.open("melt", mode, options=said)


@pytest.mark.parametrize("name", ["job.txt", "job.toml", "job.json"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_is_what_its_text_is(name, mark):
    texts = ['\n {"engine": "hdf5", "path": "x.h5"}']
    if not name.endswith(".json"):
        texts.append('engine = "hdf5"\r\npath = "x.h5"\r\n')
    for text in texts:
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(mark + text)
        with fl.open("melt", "w", options=name) as series, series.step() as step:
            step.put("x", np.ones(3))
        assert len(fl.open("x.h5")) == 1


@pytest.mark.parametrize("said", [3, ["engine"], b"engine = 'hdf5'"])
def test_what_is_no_place_of_options(said):
    with pytest.raises(TypeError, match="options has a type that cannot be used: got"):
        fl.open("melt", options=said)


def test_a_folder_is_refused_instead_of_waited_for():
    for name in ("out", "./out"):
        with pytest.raises(fl.InvalidArgument, match=r"a folder is no series: .*engine='stage'"):
            fl.open(name)
