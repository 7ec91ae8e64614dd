# SPDX-License-Identifier: Apache-2.0
"""Journals of pools: what is in them is not run again, and damage is noticed."""

import functools
import operator
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from fluvial.flow.journal import Finished, Journal
from harness import scenario

import fluvial as fl


def record(folder, name):
    with open(folder / "runs", "a") as runs:
        runs.write(f"{name}\n")
    return name


def fail(folder):
    record(folder, "failed")
    raise LookupError("not today")


def runs(folder):
    path = folder / "runs"
    return path.read_text().split() if path.exists() else []


def sweep(folder, names, workers=None):
    with fl.Pool(workers, journal=folder / "sweep.journal") as pool:
        keyed = pool.with_options(key="run {1}".format)
        futures = [keyed.submit(record, folder, name) for name in names]
        joined = pool.submit("+".join, futures)
        return [future.result() for future in futures], joined.result()


def test_a_second_run_does_the_rest(tmp_path):
    assert sweep(tmp_path, "ab") == (["a", "b"], "a+b")
    assert sweep(tmp_path, "abc") == (["a", "b", "c"], "a+b+c")
    assert runs(tmp_path) == ["a", "b", "c"]
    assert [path.name for path in tmp_path.iterdir() if path.name != "runs"] == ["sweep.journal"]


def test_a_task_that_outlives_its_limit_is_told_by_its_key(tmp_path):
    with fl.Pool(1, journal=tmp_path / "journal") as pool:
        keyed = pool.with_options(key="run {}".format, timeout=0.05)
        late = keyed.submit(time.sleep, 0.3).exception(timeout=30)
    assert str(late).startswith("the task 'sleep' outlived its time limit")
    assert late.__notes__ == ["The key of the task is 'run 0.3'."]


@pytest.mark.any_mpi
def test_with_ranks_that_a_program_started(tmp_path):
    assert sweep(tmp_path, "ab", 2) == (["a", "b"], "a+b")
    assert sweep(tmp_path, "abc", 2) == (["a", "b", "c"], "a+b+c")
    assert sorted(runs(tmp_path)) == ["a", "b", "c"]


@scenario("job on 3 ranks", timeout=60)
class test_in_a_job:
    def job(comm, fl, where):
        told = []
        for _ in range(2):
            with fl.Pool(comm=comm, journal=where / "journal") as pool:
                if pool.leads:
                    keyed = pool.with_options(key="array")
                    array = keyed.submit(np.arange, 1e5)
                    told.append((float(pool.submit(np.sum, array).result()), array.task.number))
        (where / "journal").write_bytes(b"not a journal" * 100)
        try:
            fl.Pool(comm=comm, journal=where / "journal")
        except fl.Error as error:
            return told, type(error).__name__, str(error)

    def check(jobs):
        first, second, third = jobs.finish()["job"]
        assert [value for value, _ in first[0]] == [sum(range(100_000))] * 2
        assert first[1:] == ("DamagedFile", first[2])
        assert "file is not a database" in first[2]
        assert second[1:] == third[1:] == ("Error", f"rank 0: {first[2]}")


def test_failures_are_not_kept(tmp_path):
    for _ in range(2):
        with fl.Pool(journal=tmp_path / "journal") as pool:
            keyed = pool.with_options(key="fails")
            assert isinstance(keyed.submit(fail, tmp_path).exception(), LookupError)
            assert isinstance(keyed.submit(fail, tmp_path).exception(), LookupError)
    assert runs(tmp_path) == ["failed"] * 4


def test_tasks_that_return_tasks(tmp_path):
    for _ in range(2):
        with fl.Pool(journal=tmp_path / "journal") as pool:
            keyed = pool.with_options(key="outer")
            outer = keyed.submit(lambda: [fl.task(record, tmp_path, "inner")])
            assert outer.result() == ["inner"]
    assert runs(tmp_path) == ["inner"]


def test_wrong_keys(tmp_path):
    with fl.Pool() as pool, pytest.raises(fl.InvalidArgument, match=r"got 'a'; .* without a jour"):
        pool.with_options(key="a").submit(abs, -1)
    for _ in range(2):
        with fl.Pool(journal=tmp_path / "journal") as pool:
            keyed = pool.with_options(key="a")
            assert keyed.submit(abs, -1).result() == 1
            with pytest.raises(fl.InvalidArgument, match="got 'a' a second time"):
                keyed.submit(abs, -1)
            with pytest.raises(fl.WrongType, match=r"key has a type .* got 7; allowed: text"):
                pool.with_options(key=7).submit(abs, -1)
    with fl.Pool(journal=tmp_path / "journal") as pool:
        with pytest.raises(fl.InvalidArgument, match="got 'a' for 'pow'; allowed: 'abs'"):
            pool.with_options(key="a").submit(pow, 1, 1)
        assert list(pool.with_options(key=str).map(abs, [-1, -2], chunksize=2)) == [1, 2]
    assert "-2" in Journal(tmp_path / "journal")


def test_a_task_that_could_not_be_submitted_leaves_its_key(tmp_path):
    with fl.Pool(journal=tmp_path / "journal") as pool, fl.Pool() as other:
        keyed = pool.with_options(key="a")
        with pytest.raises(fl.InvalidArgument, match="futures of the same pool"):
            keyed.submit(abs, other.submit(abs, 1))
        assert keyed.submit(abs, -1).result() == 1


def test_one_pool_at_a_time(tmp_path):
    path = tmp_path / "journal"
    program = "import sys, fluvial as fl; fl.Pool(journal=sys.argv[1])"
    with fl.Pool(journal=path) as pool:
        with pytest.raises(fl.Error, match=r"a journal is in use: got .* one pool at a time"):
            fl.Pool(journal=path)
        other = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
        )
        assert "a journal is in use" in other.stderr
        assert pool.with_options(key="a").submit(abs, -1).result() == 1
    Journal(path).close()


def test_files_that_are_no_journal(tmp_path):
    path = tmp_path / "journal"
    path.touch()
    with pytest.raises(fl.DamagedFile, match="it is not a journal"):
        Journal(path)
    path.write_bytes(b"\0" * 5000)
    with pytest.raises(fl.DamagedFile, match="file is not a database"):
        Journal(path)
    path.unlink()
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE notes (note TEXT);")
    database.close()
    with pytest.raises(fl.DamagedFile, match="it is not a journal"):
        Journal(path)
    with pytest.raises(fl.Error, match=r"cannot be opened: got /.*/nowhere/journal"):
        Journal(tmp_path / "nowhere" / "journal")


def test_another_version(tmp_path):
    Journal(tmp_path / "journal").close()
    database = sqlite3.connect(tmp_path / "journal")
    database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(fl.Error, match="of version 9; allowed: version 1"):
        Journal(tmp_path / "journal")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM finished WHERE number = 7",
        "DELETE FROM finished WHERE number = 1",
        "UPDATE finished SET key = 'other' WHERE number = 3",
        "UPDATE finished SET function = 'other' WHERE number = 3",
        "UPDATE state SET finished = 6",
        "DELETE FROM state",
        "DROP TABLE finished",
    ],
)
def test_rows_that_were_changed(change, tmp_path):
    filled(tmp_path / "journal")
    database = sqlite3.connect(tmp_path / "journal")
    database.execute(change)
    database.commit()
    database.close()
    with pytest.raises(fl.DamagedFile, match="Restore the file, or remove it"):
        Journal(tmp_path / "journal")


def filled(path):
    results = {f"key {i}": bytes([i]) * (3000 * i) for i in range(1, 8)}
    journal = Journal(path)
    journal.add([Finished(key, "f", result) for key, result in results.items()])
    journal.close()
    return results


def contents(path, keys):
    journal = Journal(path)
    try:
        return {key: bytes(journal.result_of(key)) for key in keys}
    finally:
        journal.close()


def test_a_damaged_byte_is_noticed_or_does_no_harm(tmp_path, seed):
    path = tmp_path / "journal"
    results = filled(path)
    whole = path.read_bytes()
    random = np.random.default_rng(seed)
    places = np.concatenate([np.arange(0, 200), random.integers(len(whole), size=200)])
    noticed = 0
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        try:
            assert contents(path, results) == results, place
        except fl.Error:
            noticed += 1
    assert noticed > 100


def test_a_file_that_was_cut_off(tmp_path):
    path = tmp_path / "journal"
    results = filled(path)
    whole = path.read_bytes()
    for length in (0, 100, 4096, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:length])
        with pytest.raises(fl.DamagedFile):
            contents(path, results)


def test_large_results_lie_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("fluvial.flow.journal._PIECE_BYTES", 1000)
    path = tmp_path / "journal"
    content = bytes(range(256)) * 40
    journal = Journal(path)
    journal.add([Finished("a", "f", content), Finished("empty", "f", b"")])
    journal.add([Finished("b", "f", content[::-1])])
    journal.close()
    again = Journal(path)
    assert len(again) == 3
    assert again.result_of("a") == content
    assert again.result_of("b") == content[::-1]
    assert again.result_of("empty") == b""
    again.close()


FULL = """
import resource, signal, sys
import fluvial as fl
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with fl.Pool(journal=sys.argv[1]) as pool:
    keyed = pool.with_options(key="{}".format)
    print(keyed.submit(abs, -1).result())
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    print(keyed.submit(bytes, 1_000_000).exception())
    print(keyed.submit(abs, -2).result(), pool.submit(len, keyed.submit(bytes, 7)).result())
"""


def test_a_result_that_does_not_fit_on_the_disk(tmp_path):
    path = tmp_path / "journal"
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False
    )
    lines = told.stdout.splitlines()
    assert lines[0] == "1", told.stderr
    assert lines[1].startswith(f"a journal cannot be written: got {path}: ")
    assert lines[2] == "2 7"
    journal = Journal(path)
    assert sorted(key for key in ("1", "-1", "-2", "7", "1000000") if key in journal) == [
        "-1",
        "-2",
        "7",
    ]
    journal.close()


def test_a_sound_journal_is_not_called_damaged_after_the_pools_end(tmp_path):
    with fl.Pool(journal=tmp_path / "j") as pool:
        pool.with_options(key="z").submit(abs, 1).result()
    pool = fl.Pool(journal=tmp_path / "j")
    pool.shutdown()
    with pytest.raises(fl.InvalidArgument, match="pool that was shut down"):
        pool.with_options(key="z").submit(abs, 1)


def test_a_key_that_utf8_cannot_hold_is_refused_before_its_task_runs(tmp_path):
    with fl.Pool(journal=tmp_path / "j") as pool:
        with pytest.raises(fl.InvalidArgument, match="a key is no text"):
            pool.with_options(key="bad\udcff").submit(abs, 1)
        assert pool.with_options(key="good").submit(abs, -1).result() == 1


def test_a_key_of_a_partial_function_is_not_one_of_another(tmp_path):
    with fl.Pool(journal=tmp_path / "j") as pool:
        keyed = pool.with_options(key="k")
        assert keyed.submit(functools.partial(operator.add, 3), 4).result() == 7
    with fl.Pool(journal=tmp_path / "j") as pool:
        keyed = pool.with_options(key="k")
        with pytest.raises(fl.InvalidArgument, match="a call of another function"):
            keyed.submit(functools.partial(operator.mul, 3), 4)
