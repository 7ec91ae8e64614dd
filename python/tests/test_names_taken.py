# SPDX-License-Identifier: Apache-2.0
"""Names that something else has: writers leave it alone and say what it is."""

import os
import socket

import numpy as np
import pytest

import fluvial as fl

ENGINES = {"hdf5": "h5", "netcdf": "nc", "netcdf4": "nc4", "zarr": "zarr", "bp": "bp"}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_file_is_not_replaced_by_one(tmp_path, engine):
    pytest.importorskip({"bp": "adios2", "zarr": "zarr"}.get(engine, "h5py"))
    path = tmp_path / f"a.{ENGINES[engine]}"
    os.mkfifo(path)
    with pytest.raises(fl.InvalidArgument, match=rf"no file: got '{path}', which is a FIFO; allow"):
        fl.open(path, "w")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        with pytest.raises(fl.InvalidArgument, match="which is a socket"):
            fl.open(path, "w")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(fl.InvalidArgument, match="'/dev/null', which is a device"):
        fl.open("/dev/null", "w", engine=engine)
    assert os.path.exists("/dev/null")


def test_a_stream_is_not_called_as_a_folder_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt").mkdir()
    with pytest.raises(fl.InvalidArgument, match=r"a folder that is here: got 'melt'.*'stage'"):
        fl.open("melt", "w", readers=0)
    with (
        fl.open("melt", "w", engine="stage", readers=0) as writer,
        fl.open("melt", engine="stage") as reader,
    ):
        with writer.step() as step:
            step.put("x", np.arange(3))
        assert reader.next()["x"].read().sum() == 3


@pytest.mark.parametrize("name", ["notes.txt", "melt"])
def test_a_stream_is_not_called_as_a_file_here(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("mine")
    with pytest.raises(
        fl.InvalidArgument, match=rf"of a file that is here: got '{name}'.*engine='stage'"
    ):
        fl.open(name, "w", readers=0)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with (
        fl.open(name, "w", engine="stage", readers=0) as writer,
        fl.open(name, engine="stage") as reader,
    ):
        with writer.step() as step:
            step.put("x", np.arange(3))
        assert reader.next()["x"].read().sum() == 3
    assert (tmp_path / name).read_text() == "mine"


def test_a_contact_that_was_left_behind_takes_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    with fl.open("melt", "w", readers=0):
        left_behind = (tmp_path / "melt.fluvial").read_text()
    (tmp_path / "melt.fluvial").write_text(left_behind)
    with fl.open("melt", "w", readers=0):
        assert (tmp_path / "melt.fluvial").read_text() != left_behind
