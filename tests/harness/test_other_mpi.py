# SPDX-License-Identifier: Apache-2.0
"""Which tests run under the MPI that is not the default one."""

import os
import pathlib
import subprocess
import sys

import pytest

from harness.other_mpi import chosen

ROOT = pathlib.Path(__file__).parents[2]

TESTS = """
import pytest

@pytest.mark.any_mpi(cases=3)
@pytest.mark.parametrize("case", range(7))
def test_some(case): ...

@pytest.mark.any_mpi
@pytest.mark.parametrize("case", range(2))
def test_each(case): ...

@pytest.mark.one_mpi
@pytest.mark.any_mpi
def test_once(): ...
"""


@pytest.mark.parametrize(
    ("count", "most", "places"),
    [(7, 3, {0, 3, 6}), (3, 3, {0, 1, 2}), (2, 3, {0, 1}), (9, 1, {0}), (12, 2, {0, 11})],
)
def test_cases_are_spread(count, most, places):
    assert chosen(count, most) == places


@pytest.mark.parametrize(
    ("flavour", "ran"),
    [
        (
            "openmpi",
            ["test_some[0]", "test_some[3]", "test_some[6]", "test_each[0]", "test_each[1]"],
        ),
        (
            "mpich",
            [*(f"test_some[{i}]" for i in range(7)), "test_each[0]", "test_each[1]", "test_once"],
        ),
    ],
)
def test_the_other_mpi_runs_fewer(tmp_path, flavour, ran):
    (tmp_path / "test_them.py").write_text(TESTS)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"FLUVIAL_FLAVOUR": flavour}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), env.get("PYTHONPATH", "")])
    argv = [sys.executable, "-m", "pytest", "-v", "-c", str(ROOT / "pyproject.toml")]
    argv += [f"--rootdir={ROOT}", "-p", "harness.other_mpi", str(tmp_path / "test_them.py")]
    printed = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True).stdout
    lines = [
        line.partition("::")[2].split()[0] for line in printed.splitlines() if " PASSED" in line
    ]
    assert lines == ran, printed
