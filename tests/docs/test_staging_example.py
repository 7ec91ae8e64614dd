# SPDX-License-Identifier: Apache-2.0
"""The example of staging: a pipe beside LAMMPS, an analysis of its chunks, a chain of jobs."""

import json
import pathlib
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import fluvial as fl

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "14_staging"
SMALL = ["--cells", "8", "--every", "2", "--outputs", "4"]


@pytest.fixture
def run(launcher, tmp_path):
    """Run jobs side by side, each a number of ranks and its words; return what each has printed."""

    def run(*jobs, env=None):
        started = []
        for ranks, *words in jobs:
            command = [sys.executable, "-m", "mpi4py"]
            if words[0].endswith(".py"):
                words[0] = str(EXAMPLE / words[0])
            else:
                command = [sys.executable, "-m"]
            started.append(
                launcher.start(
                    ranks,
                    command + words,
                    timeout=90,
                    cwd=tmp_path,
                    env={"FLUVIAL_DIRECTORY": str(tmp_path), **(env or {})},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )
        printed = []
        for job in started:
            with job:
                printed.append(job.process.communicate(timeout=105)[0].decode())
                assert job.wait() == 0, printed[-1]
        return printed

    return run


def test_a_pipe_writes_what_the_simulation_has_put(run, tmp_path):
    simulated, piped = run(
        (2, "simulation.py", "drop", *SMALL), (1, "fluvial", "pipe", "drop", "piped.h5")
    )
    assert re.match(r"8 steps in \d+\.\d\d s: 4 outputs, 0 discarded; \d+\.\d\d s", simulated)
    assert re.search(r"4 steps, .* to piped.h5; \d+\.\d\d s loading, \d+\.\d\d s storing", piped)
    run((2, "simulation.py", "direct.h5", *SMALL), env={"FLUVIAL_OPTIONS": "compression = 'gzip'"})
    with fl.open(str(tmp_path / "piped.h5")) as piped, fl.open(str(tmp_path / "direct.h5")) as file:
        assert piped.steps.indices == file.steps.indices == [2, 4, 6, 8]
        for one, other in zip(piped, file, strict=True):
            assert one.time == other.time == pytest.approx(0.005 * one.iteration)
            for name in one.names():
                np.testing.assert_array_equal(one[name].read(), other[name].read())
    with h5py.File(tmp_path / "direct.h5") as file:
        assert file["data/8/particles/atoms/position/x"].compression == "gzip"


def test_any_strategy_loads_all_atoms_and_some_balance(run, tmp_path):
    bounds = {"by-host(binpacking)": 2, "even-binpacking": 1.11}
    words = [word for strategy in bounds for word in ("--strategy", strategy)]
    outputs = ["--picture", "pattern.png", "--report", "loads.json"]
    simulated, printed = run(
        (3, "simulation.py", "drop", *SMALL),
        (2, "scattering.py", "drop", *words, "--pixels", "6", *outputs),
    )
    assert "4 outputs, 0 discarded" in simulated
    for strategy, bound in bounds.items():
        said = re.search(rf"{re.escape(strategy)}: 4 steps, .* MB loaded .* had (\S+) ", printed)
        assert 1 <= float(said[1]) <= bound
    assert (tmp_path / "pattern.png").stat().st_size > 0
    loads = json.loads((tmp_path / "loads.json").read_text())
    atoms = {sum(of_one[s][i][0] for of_one in loads) // 24 for s in bounds for i in range(4)}
    assert len(atoms) == 1, "each strategy loads the same atoms in each step"
    assert atoms.pop() > 500


def test_a_chain_of_three_jobs(run):
    *_, printed = run(
        (2, "simulation.py", "drop", *SMALL),
        (2, "density.py", "drop", "density"),
        (1, "radial_profile.py", "density"),
    )
    lines = [line.split() for line in printed.splitlines()]
    assert [line[0] for line in lines] == ["2:", "4:", "6:", "8:"]
    atoms = {line[1] for line in lines}
    assert len(atoms) == 1, "none is lost on the way"
    for line in lines:
        shells = [float(word) for word in line[3:]]
        assert shells[0] > 0.5 > shells[-1] >= 0
