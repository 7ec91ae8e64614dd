# SPDX-License-Identifier: Apache-2.0
"""Random tests with many seeds: how each part of `./run soak --seeds N` treats them."""

import os
import pathlib
import re
import subprocess
import sys
from collections import Counter

import pytest
import soak

ROOT = pathlib.Path(__file__).parents[2]

IN_PROCESS = """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.fixture
def twice(seed):
    return 2 * seed

@pytest.mark.parametrize("more", [0, 1])
def test_seeded(tmp_path, twice, seed, more):
    assert twice == 2 * seed and list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    print(f"saw {seed}+{more}")
    assert (seed, more) != (77, 1)

@settings(max_examples=9)
@given(number=st.integers(0, 10**9))
def test_drawn(number):
    print(f"drew {number}")

def test_fixed():
    print("once")
"""


def run_pytest(folder, text, *seeds, **more):
    """Run the text as a file of tests with these seeds; return what it printed."""
    (folder / "test_them.py").write_text(text)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"FLUVIAL_TEST_SEED": ",".join(map(str, seeds)), **more}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), env.get("PYTHONPATH", "")])
    argv = [sys.executable, "-m", "pytest", "-sq", "-c", str(ROOT / "pyproject.toml")]
    argv += [f"--rootdir={ROOT}", "-p", "harness.many_seeds", str(folder / "test_them.py")]
    ended = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout


def test_each_test_runs_with_each_seed(tmp_path):
    printed = run_pytest(tmp_path, IN_PROCESS, 5, 77)
    assert sorted(re.findall(r"saw (\d+\+\d)", printed)) == ["5+0", "5+1", "77+0", "77+1"]
    assert printed.count("once") == 1
    assert re.search(r"FAILED .*test_seeded\[.*seed=77.*\]", printed)
    assert "1 failed, 6 passed" in printed


def test_hypothesis_draws_others_with_another_seed_and_the_same_with_the_same(tmp_path):
    first, both = (
        re.findall(r"drew (\d+)", run_pytest(tmp_path, IN_PROCESS, *seeds))
        for seeds in ([5], [5, 6])
    )
    assert both[: len(first)] == first != both[len(first) :]


def test_a_test_that_has_taken_its_time_ends(tmp_path):
    printed = run_pytest(tmp_path, "def test(seed): ...\n", 5, 6, 7, FLUVIAL_TEST_SECONDS="0")
    assert "1 passed, 2 skipped" in printed
    assert "no time is left for further seeds" in printed


def test_seeds_of_its_own_stay(tmp_path):
    text = "import pytest\n@pytest.mark.parametrize('seed', [1, 2])\ndef test(seed): print('saw')\n"
    assert run_pytest(tmp_path, text, 5, 6, 7).count("saw") == 2


SCENARIO = """
import os
from harness import scenario

@scenario("job on 2 ranks")
class test_them:
    def job(comm, fl, where, seed):
        assert os.environ["FLUVIAL_DIRECTORY"] == str(where)
        assert (seed, comm.rank) != (78, 1)
        return comm.allreduce(seed), os.getpid()

    def check(jobs, seed):
        jobs.start(seed=seed)
        values = jobs.finish()["job"]
        assert [value for value, _ in values] == [2 * seed] * 2
        print("processes", *(process for _, process in values))
"""


def test_jobs_start_once_for_all_seeds_and_anew_after_a_failure(tmp_path):
    printed = run_pytest(tmp_path, SCENARIO, 5, 77, 78, 79, 80)
    processes = re.findall(r"processes (\d+ \d+)", printed)
    assert processes[0] == processes[1] != processes[2] == processes[3]
    assert "1 failed, 4 passed" in printed
    assert re.search(r"FAILED .*\[seed=78\]", printed)


@pytest.mark.parametrize(("seconds", "seen"), [("1000", ["5", "77", "6"]), ("0", ["5"])])
@pytest.mark.parametrize(
    ("ranks", "program"), [(None, "distribute/distribute_cut"), (2, "move/move_redistribution")]
)
def test_a_program_in_cpp_starts_once(launcher, prefix, ranks, program, seconds, seen):
    argv = [str(prefix.parent / "src" / "fluvial" / program)]
    if ranks:
        argv = launcher.command(ranks, argv)
    seeds = {"FLUVIAL_TEST_SEED": "5,77,6", "FLUVIAL_TEST_SECONDS": seconds}
    env = launcher.environment({**os.environ, **seeds})
    ended = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert Counter(re.findall(r"FLUVIAL_TEST_SEED=(\d+)", ended.stdout)) == Counter(
        seen * (ranks or 1)
    )
    assert re.findall(r"seeds: (\d+) of 3", ended.stdout) == [str(len(seen))] * (ranks or 1)


REPORT = """<testsuite>
<testcase name="move_ring"><system-out>FLUVIAL_TEST_SEED=5
FLUVIAL_TEST_SEED=77
seeds: 2 of 3</system-out>{failure}</testcase>
<testcase classname="a.test_b" name="test_c[seed=5-x]"/>
<testcase classname="a.test_b" name="test_c[seed=6-x]">{failure}</testcase>
<testcase classname="a.test_b" name="test_c[seed=7-x]"><skipped/></testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("kind", "again", "counted"),
    [
        ("cpp", "./run soak --seed 77 --only cpp -k '^move_ring$'", ("move_ring", 2)),
        ("python", "./run soak --seed 6 --only python -k test_c", ("a.test_b.test_c[x]", 2)),
    ],
)
def test_a_round_says_what_repeats_a_failure(tmp_path, monkeypatch, kind, again, counted):
    monkeypatch.setitem(soak.REPORTS, kind, tmp_path / "report.xml")
    for failure in ("<failure/>", ""):
        (tmp_path / "report.xml").write_text(REPORT.format(failure=failure))
        outcome = soak.Round()
        outcome.read(kind, first_seed=5)
        assert (again in outcome.again) == bool(failure)
        assert outcome.seeds[counted[0]] == counted[1]
