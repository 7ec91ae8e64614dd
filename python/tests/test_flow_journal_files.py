# SPDX-License-Identifier: Apache-2.0
"""The file of a journal: who may have it, what lies beside it, and how it is made."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from fluvial.flow.journal import Finished, Journal

import fluvial as fl

OPENED = """
import sys
from fluvial.flow.journal import Finished, Journal
journal = Journal(sys.argv[1])
"""
KILLED_IN_A_TRANSACTION = (
    OPENED
    + """
import os
journal.add([Finished("old", "f", b"result")])
journal._database.execute("PRAGMA cache_size = 1")
journal._database.execute("BEGIN EXCLUSIVE")
journal._database.execute("INSERT INTO pieces VALUES (1000, ?)", (bytes(10_000_000),))
os.kill(os.getpid(), 9)
"""
)


def said_by(program, path):
    argv = [sys.executable, "-c", program, str(path)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stderr


def test_a_journal_that_was_removed_does_not_come_back(tmp_path):
    path, rollback = tmp_path / "sweep.journal", tmp_path / "sweep.journal-journal"
    said_by(KILLED_IN_A_TRANSACTION, path)
    assert rollback.stat().st_size > 0
    path.rename(tmp_path / "aside")
    with pytest.raises(fl.Error, match=r"is gone, .* got .*sweep\.journal-journal .* or remove"):
        Journal(path)
    assert not path.exists()
    rollback.rename(tmp_path / "aside-journal")
    new = Journal(path)
    assert len(new) == 0
    new.close()
    old = Journal(tmp_path / "aside")
    assert bytes(old.result_of("old")) == b"result"
    old.close()


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_results_are_not_reported_when_the_journal_is_gone(tmp_path, how):
    path = tmp_path / "journal"
    with fl.Pool(journal=path) as pool:
        keyed = pool.with_options(key="{}".format)
        assert keyed.submit(abs, -1).result() == 1
        path.rename(tmp_path / "elsewhere")
        if how == "replaced":
            path.touch()
        for number in (-2, -3):
            with pytest.raises(fl.Error, match=rf"a journal is gone: got {path}, which was remo"):
                keyed.submit(abs, number).result()
        assert pool.submit(abs, -4).result() == 4
    path.unlink(missing_ok=True)
    (tmp_path / "elsewhere").rename(path)
    journal = Journal(path)
    assert len(journal) == 1 and "-1" in journal
    journal.close()


@pytest.mark.parametrize("name", ["", ".", "/dev/null"])
def test_what_is_no_file_is_no_journal(name):
    allowed = "allowed: the path of a file, in a folder that exists"
    with pytest.raises(fl.InvalidArgument, match=f"got '{re.escape(name)}'; {allowed}"):
        fl.Pool(journal=name)


def test_what_undoes_its_last_transaction_lies_beside_the_file_itself(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "sweep.journal"
    link.symlink_to(tmp_path / "disk" / "journal")
    (tmp_path / "disk" / "journal-journal").write_bytes(b"something")
    with pytest.raises(fl.Error, match=r"got .*disk/journal-journal without"):
        Journal(link)


def test_the_file_beside_a_damaged_journal_is_named(tmp_path):
    (tmp_path / "journal").write_bytes(b"not a journal" * 100)
    with pytest.raises(fl.DamagedFile, match="or remove it, and journal-journal where that is"):
        Journal(tmp_path / "journal")


def test_reading_its_file_does_not_give_it_to_another_program(tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path)
    assert "a journal is in use" in said_by(OPENED, path)
    shutil.copy(path, tmp_path / "backup")
    assert "a journal is in use" in said_by(OPENED, path)
    with pytest.raises(fl.Error, match="a journal is in use"):
        Journal(path)
    assert "a journal is in use" in said_by(OPENED, path)
    journal.add([Finished("a", "f", b"a")])
    journal.close()
    assert said_by(OPENED, path) == ""


def test_a_child_does_not_keep_it(tmp_path):
    journal = Journal(tmp_path / "journal")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        os.read(read_end, 1)  # until the parent is done
        os._exit(0)
    os.close(read_end)
    try:
        assert "a journal is in use" in said_by(OPENED, tmp_path / "journal")
        journal.close()
        assert said_by(OPENED, tmp_path / "journal") == ""
    finally:
        os.close(write_end)
        os.waitpid(child, 0)


def test_two_programs_make_it_at_once_where_there_are_no_links(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    faster = []

    def no_link(*_):
        if not faster:
            faster.append(None)
            faster[0] = Journal(path)
            faster[0].add([Finished("a", "f", b"a")])
        raise PermissionError(1, "no links")

    monkeypatch.setattr("os.link", no_link)
    with pytest.raises(fl.Error, match="a journal is in use"):
        Journal(path)
    faster[0].close()
    again = Journal(path)
    assert "a" in again
    again.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["journal"]
