# SPDX-License-Identifier: Apache-2.0
"""The tests that mpi4py has for its own executors, from its source distribution, on pools."""

import json
import pathlib
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "4.1.2"
GUIDE = ROOT / "docs" / "guide" / "flow.md"
# What cannot pass, and how the guide says why.
CANNOT = {
    "options of mpi4py's launcher": (
        "InitTest.test_init_globals",
        "InitTest.test_init_kwargs",
        "InitTest.test_init_pyargs",
        "InitTest.test_init_sys_flags",
        "InitTest.test_run_name",
        "InitTest.test_use_pkl5_environ",
        "InitTest.test_use_pkl5_kwarg",
        "InitTest.test_max_workers_environ",
    ),
    "attributes of mpi4py's own objects": (
        "InitTest.test_max_workers",
        "ShutdownTest.test_context_manager_shutdown",
        "ShutdownTest.test_del_shutdown",
        "ShutdownTest.test_init_bootup_shutdown",
        "ShutdownTest.test_shutdown",
        "ShutdownTest.test_shutdown_cancel",
        "PickleTest.test_exc_unpickle",
    ),
    "a pool has begun when it is made": (
        "BootupTest.test_bootup",
        "BootupTest.test_bootup_nowait",
        "BootupTest.test_bootup_nowait_wait",
        "BootupTest.test_bootup_shutdown_nowait",
        "BootupTest.test_bootup_wait",
    ),
    "a parallel task gets the communicator of its team": ("InitTest.test_get_comm_workers",),
    "`cancel` waits while ranks start": ("InitTest.test_initializer_error",),
    "`WrongType` names the result that cannot be pickled": ("PickleTest.test_bad_pickle",),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder of mpi4py's tests."""
    where = tmp_path_factory.mktemp("mpi4py")
    fetched = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pip",
                "download",
                f"mpi4py=={VERSION}",
                "--quiet",
                "--no-deps",
            ),
            *("--no-binary", "mpi4py", "--dest", str(where)),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    if fetched.returncode != 0:
        pytest.skip(f"mpi4py's sources cannot be had: {fetched.stderr.strip()[-200:]}")
    [archive] = where.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        # Debian 12's Python 3.11.2 has no filters yet.
        packed.extractall(where, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return where / f"mpi4py-{VERSION}" / "demo" / "futures"


def outcomes_of(source, *names):
    """The result of each test, or of the tests with these names."""
    adapter = pathlib.Path(__file__).with_name("adapter.py")
    said = subprocess.run(
        [sys.executable, str(adapter), str(source), *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # errors of jobs that are to fail
        timeout=380,
        check=True,
    ).stdout
    return json.loads(said)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_holds_of_mpi4pys_executors_holds_of_pools(source):
    outcomes = outcomes_of(source)
    cannot = {f"ProcessPool{name}" for names in CANNOT.values() for name in names}
    late = [n for n, what in outcomes.items() if what != "passed" and n not in cannot]
    if late:  # some give a task a quarter of a second, which may be too short on a busy machine
        outcomes |= outcomes_of(source, *late)
    assert {name for name, what in outcomes.items() if what != "passed"} == cannot, outcomes
    guide = GUIDE.read_text()
    assert f"{len(outcomes) - len(cannot)} of {len(outcomes)} pass" in guide
    for why, names in CANNOT.items():
        assert f"| {len(names)} | {why}" in guide
