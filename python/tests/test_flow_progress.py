# SPDX-License-Identifier: Apache-2.0
"""What a pool says of itself while it runs: tasks, and how many of its ranks are busy."""

import re
import subprocess
import sys
import types

import pytest
from fluvial.flow.busy_ranks import Busy, BusyRanks
from fluvial.flow.future import Outcome
from fluvial.flow.progress import Progress
from fluvial.flow.utilisation import Utilisation
from fluvial.launch import Launcher

import fluvial as fl


def state(number, running=True):
    return types.SimpleNamespace(number=number, running=running, parts=[])


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until a test sets it."""
    stopped = types.SimpleNamespace(now=0.0)
    stopped.monotonic = lambda: stopped.now
    monkeypatch.setattr("fluvial.flow.progress.time", stopped)
    monkeypatch.setattr("fluvial.flow.utilisation.time", stopped)
    return stopped


def test_tasks_that_run_make_ranks_busy():
    ranks = BusyRanks(8)
    ranks.add(state(1), [3])
    ranks.add(state(2, running=False), [4])
    assert ranks.count() == (3, False)
    ranks.add(state(3), [1, 2, 4])  # the pool has chosen one of them
    assert ranks.count() == (4, True)
    ranks.remove(1)
    ranks.remove(1)
    assert ranks.count() == (1, True)
    for number in range(100):  # brief ones: each rank has some more ahead
        ranks.add(state(10 + number), [1])
    assert ranks.count() == (8, False)


def test_the_mean_is_over_time(clock):
    seen = {}
    found = Utilisation(4, lambda: seen[clock.now])
    clock.now = 0.05  # too early
    found.look()
    assert (found.now(), found.whole()) == ("", "")
    for clock.now, ranks in ((1.0, 4), (4.0, 2), (5.0, 0)):
        seen[clock.now] = Busy(ranks, False)
        found.look()
    assert found.mean == pytest.approx((1 * 4 + 3 * 2 + 1 * 0) / (5 * 4))
    assert found.now() == "0 of 4 ranks busy (mean 50%)"
    assert found.whole() == "ranks 50% busy"
    clock.now, seen[10.0] = 10.0, Busy(2, True)
    found.look()
    assert found.now() == "at least 2 of 4 ranks busy (mean 50%)"
    clock.now, seen[20.0] = 20.0, None  # the job has broken off
    found.look()
    assert (found.now(), found.whole()) == ("", "ranks at least 50% busy")


def test_a_look_that_takes_long_is_rare(clock):
    looks = []

    def busy():
        looks.append(clock.now)
        clock.now += 0.2
        return Busy(1, False)

    found = Utilisation(1, busy)
    for clock.now in (1.0, 2.0, 20.0, 21.3):
        found.look()
    assert looks == [1.0, 21.3]


def test_progress_of_a_brief_pool(capsys):
    with fl.Pool(progress=True) as pool:
        futures = [pool.submit(divmod, 7, i) for i in range(3)]
        assert isinstance(futures[0].exception(), ZeroDivisionError)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("3 of 3 tasks in ")
    assert re.search(r" a second, 1 failed(, ranks \d+% busy)?\n$", said)


def test_progress_on_a_terminal_is_one_line(monkeypatch, capsys, clock):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    progress = Progress(Utilisation(3, lambda: Busy(2, False)))
    for clock.now in (1.0, 2.0, 3.0, 4.0):
        progress.show([Outcome()], 8)
    whole = "4 of 8 tasks in 4.0 s, 1 a second, 4 s left, 2 of 3 ranks busy (mean 67%)"
    assert progress.line(8) == whole
    said = capsys.readouterr().err
    assert said.endswith("\r" + whole[:59])  # one that fills the terminal would begin another
    progress.end(8)
    said += capsys.readouterr().err
    assert said.count("\r") == 5
    assert said.count("\n") == 1


def test_progress_elsewhere_is_a_line_every_five_seconds(capsys, clock):
    progress = Progress(Utilisation(3, lambda: Busy(3, False)))
    for now in range(1, 121):
        clock.now = 0.1 * now
        progress.show([Outcome()], 200)
    progress.end(200)
    lines = capsys.readouterr().err.split("\n")
    assert "\r" not in "".join(lines)
    assert [line.partition(" tasks")[0] for line in lines] == [
        "50 of 200",
        "100 of 200",
        "120 of 200",
        "",
    ]
    assert lines[0].endswith(", 15 s left, 3 of 3 ranks busy (mean 100%)")
    assert lines[2].endswith(", ranks 100% busy")


PROGRAM = """
import pathlib, sys, time
import fluvial as fl
from fluvial.flow import progress

progress._LINE_EVERY_S = 0.2

@fl.parallel
def wide(team, seen):
    while not seen.exists():
        time.sleep(0.05)

workers = int(sys.argv[1]) or None
with fl.Pool(workers, progress=True) as pool:
    if pool.leads:
        pool.with_options(ranks=2).submit(wide, pathlib.Path(sys.argv[2])).result()
"""


@pytest.mark.any_mpi
@pytest.mark.parametrize("launched", [True, False], ids=["mpiexec", "started by the pool"])
def test_progress_of_a_job_counts_its_busy_ranks(launched, tmp_path):
    program, seen = tmp_path / "program.py", tmp_path / "seen"
    program.write_text(PROGRAM)
    words = [sys.executable, str(program), "0" if launched else "3", str(seen)]
    if launched:
        words = Launcher.detect().command(4, words)
    environment = Launcher.detect().environment()
    while_it_runs = re.compile(r"0 of 1 tasks .*, 2 of 3 ranks busy \(mean [1-9]\d*%\)\n")
    said = []
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as ran:
        for line in ran.stderr:
            said.append(line)
            if while_it_runs.fullmatch(line):
                seen.touch()  # however long it took until then
    assert ran.returncode == 0
    assert seen.exists(), said
    lines = [line for line in said if " of 1 tasks in " in line]
    share = re.fullmatch(r"1 of 1 tasks in .* a second, ranks (\d+)% busy\n", lines[-1])
    assert 1 <= int(share[1]) <= 67
