# SPDX-License-Identifier: Apache-2.0
"""Only contact files of dead writers of this host are removed."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from fluvial.stage.stale_contacts import contact_folder, remove_stale_contacts

import fluvial as fl

LEAVE = """
import os, signal, sys
import fluvial as fl
series = fl.open("gas", "w", readers=0, directory=sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left_behind(tmp_path):
    done = subprocess.run([sys.executable, "-c", LEAVE, tmp_path], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    return tmp_path / "gas.fluvial"


def test_the_file_of_a_dead_writer_is_removed(left_behind):
    with pytest.raises(fl.StaleContact):
        fl.open("gas", directory=left_behind.parent, rendezvous_timeout=0.1)
    assert remove_stale_contacts(str(left_behind.parent)) == ["gas.fluvial"]
    with pytest.raises(fl.TimedOut):
        fl.open("gas", directory=left_behind.parent, rendezvous_timeout=0.1)
    assert remove_stale_contacts(str(left_behind.parent)) == []


def test_the_file_of_a_living_writer_stays(tmp_path):
    with fl.open("gas", "w", readers=0, directory=tmp_path):
        assert remove_stale_contacts(str(tmp_path)) == []
        assert (tmp_path / "gas.fluvial").exists()


def test_a_copy_of_a_living_writers_file_is_followed(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    with fl.open("gas", "w", readers=0, directory=own) as writer:
        shutil.copy(own / "gas.fluvial", other)
        with fl.open("gas", directory=other, rendezvous_timeout=5) as series:
            with writer.step() as step:
                step.put("x", [1.0, 2.0])
            assert next(iter(series))["x"].read().tolist() == [1, 2]
    begin = time.monotonic()
    with pytest.raises(fl.StaleContact, match="no process answers at the address"):
        fl.open("gas", directory=other, rendezvous_timeout=30)
    assert time.monotonic() - begin < 5


def test_a_file_of_another_boot_or_of_another_kind_stays(left_behind):
    text = left_behind.read_text()
    (booted,) = [line for line in text.splitlines() if line.startswith("boot_id=")]
    for other in (text.replace(booted, "boot_id=0"), text.replace("contact 2", "contact 3"), ""):
        left_behind.write_text(other)
        assert remove_stale_contacts(str(left_behind.parent)) == []
    left_behind.write_text(text)
    left_behind.rename(left_behind.with_name("kept"))
    left_behind.symlink_to("kept")
    os.mkfifo(left_behind.with_name("pipe.fluvial"))
    assert remove_stale_contacts(str(left_behind.parent)) == []


def test_a_folder_that_is_not_there():
    assert remove_stale_contacts("/nowhere") == []


def test_the_folder_is_the_one_that_a_writer_takes(tmp_path, monkeypatch):
    folders = {name: tmp_path / name for name in ("FLUVIAL_DIRECTORY", "XDG_RUNTIME_DIR")}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.chdir(tmp_path)
    for names in ((), ("XDG_RUNTIME_DIR",), ("XDG_RUNTIME_DIR", "FLUVIAL_DIRECTORY")):
        for name in names:
            monkeypatch.setenv(name, str(folders[name]))
        if not names:
            for name in folders:
                monkeypatch.delenv(name, raising=False)
        with fl.open("gas", "w", readers=0):
            assert os.path.exists(os.path.join(contact_folder(os.environ), "gas.fluvial"))
    monkeypatch.setenv("FLUVIAL_DIRECTORY", "/nowhere")
    assert contact_folder(os.environ) == "/nowhere"
    with pytest.raises(fl.NoSuchFile, match=r"/nowhere.*Choose a folder that exists"):
        fl.open("gas", "w", readers=0)
    monkeypatch.delenv("FLUVIAL_DIRECTORY")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    assert contact_folder(os.environ) == "."
