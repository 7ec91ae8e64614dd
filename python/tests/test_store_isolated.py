# SPDX-License-Identifier: Apache-2.0
"""Files that another process opens first: a file that ends that process is an error here."""

import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest

import fluvial as fl
from fluvial.store import isolation

DIES = """# SPDX-License-Identifier: Apache-2.0
import os, signal, sys
paths = sys.stdin.read().split("\\0")
if any("bad" in path for path in paths):
    os.kill(os.getpid(), signal.{signal})
"""


@pytest.fixture
def dying(tmp_path, monkeypatch):
    """Let the other process die of a signal where a file is called bad."""

    def die_of(name):
        program = tmp_path / "walk.py"
        program.write_text(DIES.format(signal=name))
        monkeypatch.setattr(isolation, "_WALK", program)

    return die_of


def written(path):
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(12.0).reshape(3, 4)
    return path


def test_sound_files_are_read_as_ever(tmp_path):
    path = written(tmp_path / "t.h5")
    with fl.open(path, isolated=True) as file:
        assert float(file["x"].reduce("sum")) == 66
    parts = [str(written(tmp_path / f"part_{i}.h5")) for i in range(3)]
    with fl.open(parts, isolated=True) as file:
        assert file["x"].shape == (9, 4)


def test_a_file_that_is_refused_is_refused_in_its_own_words(tmp_path):
    path = written(tmp_path / "t.h5")
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(fl.DamagedFile) as cut:
        fl.open(path)
    with pytest.raises(fl.DamagedFile) as isolated:
        fl.open(path, isolated=True)
    assert str(isolated.value) == str(cut.value)
    with pytest.raises(fl.NoSuchFile):
        fl.open(tmp_path / "no_such.h5", isolated=True)


@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGABRT", "SIGPROF"])
def test_a_file_that_ends_the_other_process_is_named(tmp_path, dying, signal):
    dying(signal)
    good, bad = str(written(tmp_path / "good.h5")), str(written(tmp_path / "bad.h5"))
    with pytest.raises(fl.DamagedFile, match=rf"^'[^']*bad\.h5' ended .* got signal {signal}"):
        fl.open([good, bad], isolated=True)
    with fl.open(good, isolated=True) as file:
        assert file.names == ["x"]


def test_a_process_that_cannot_start(tmp_path, monkeypatch):
    path = written(tmp_path / "t.h5")
    monkeypatch.setattr(isolation, "_WALK", tmp_path / "no_such.py")
    with pytest.raises(fl.SystemError, match=r"cannot be started: got .*no_such\.py"):
        fl.open(path, isolated=True)


def test_arguments(tmp_path):
    path = written(tmp_path / "t.h5")
    with pytest.raises(fl.InvalidArgument, match="unknown isolated: got 'yes'"):
        fl.open(path, isolated="yes")
    with pytest.raises(fl.InvalidArgument, match="isolated does not go with raw"):
        fl.open(path, isolated=True, raw={"dtype": "f4", "shape": (2,)})


def test_the_other_process_meets_what_would_end_this_one(tmp_path):
    """An external link to nothing: libhdf5 1.10 follows a null pointer, unless it is guarded."""
    folder = pathlib.Path(__file__).parents[2] / "tests" / "corpus" / "hdf5"
    path = folder / "found_external_link_to_nothing.h5"
    program = (
        "import sys, fluvial as fl\n"
        "try: print(fl.open(sys.argv[1], isolated=True).names)\n"
        "except fl.DamagedFile as error: print('refused:', error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=os.environ | {"FLUVIAL_HDF5_GUARD": "off"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert "ended the process" in said or said.startswith("["), said


def test_command_line(tmp_path):
    path = written(tmp_path / "t.h5")
    command = [sys.executable, "-m", "fluvial", "reduce", str(path), "x", "--op", "sum"]
    said = [
        subprocess.check_output([*command, *more, "--format", "json"], text=True)
        for more in ([], ["--isolated"])
    ]
    assert said[0] == said[1]
    info = subprocess.check_output([*command[:3], "info", "--isolated", str(path)], text=True)
    assert "float64" in info
