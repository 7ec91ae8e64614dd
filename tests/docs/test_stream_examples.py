# SPDX-License-Identifier: Apache-2.0
"""The examples of streams inside a job do what the guide says."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import openpmd_api as io
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def printed_by(launcher, tmp_path):
    """Return a function that runs one job and returns what it printed."""

    def run(ranks, *command, env=None):
        words = [str(word) for word in command]
        with launcher.start(
            ranks, words, timeout=90, cwd=tmp_path, env=env or {}, stdout=subprocess.PIPE
        ) as job:
            printed = job.process.communicate(timeout=105)[0].decode()
            assert job.wait() == 0, printed
        return printed

    return run


@pytest.mark.any_mpi
@pytest.mark.slow
def test_listings(build, printed_by, tmp_path):
    programs = build("08_mpistream")
    report = {"FLUVIAL_STREAM_REPORT": "1"}
    assert printed_by(10, programs / "listing1", env=report) == (
        f"stream 0: 800 elements, 3200 bytes, result {8 * 4950}\n"
    )
    assert printed_by(4, programs / "listing1") == ""

    printed = printed_by(4, programs / "listing2", "p.bin")
    streamed, written = re.fullmatch(
        r"(\d+) particles were streamed out, (\d+) are in p.bin\n", printed
    ).groups()
    particles = np.fromfile(tmp_path / "p.bin").reshape(-1, 8)
    assert int(streamed) == int(written) == len(particles) > 1000
    energy = (particles[:, 3:6] ** 2).sum(axis=1) / 2
    assert (energy < 1.5).any(), "once tagged, particles are written whatever their energy"
    seen = {}
    for number, cycle in particles[:, 6:].astype(int).tolist():
        seen.setdefault(number, []).append(cycle)
    for number, cycles in seen.items():
        assert sorted(cycles) == list(range(min(cycles), 20)), number

    printed = printed_by(4, programs / "listing3")
    least, most, error = re.fullmatch(
        r"converged after (\d+) to (\d+) iterations, with an error of (\S+)\n", printed
    ).groups()
    assert int(least) == int(most) > 50, "all ranks have the same verdicts"
    assert float(error) <= 1e-8

    printed = printed_by(4, programs / "listing4")
    # Of three ranks, the first gains what the second loses; the last has 0.99^cycle left.
    expected = [1e6 * np.array(numbers) for numbers in spread_of_particles(3, 60)]
    gaps = [numbers.max() - numbers.min() for numbers in expected]
    first = next(cycle for cycle, gap in enumerate(gaps) if gap > 1e6)
    assert printed == (
        f"alert in cycle {first}: {expected[first].min():.0f} to {expected[first].max():.0f} "
        f"particles a rank\n{sum(gap > 1e6 for gap in gaps)} alerts; at the end "
        f"{expected[-1].min():.0f} to {expected[-1].max():.0f} particles a rank\n"
    )


def spread_of_particles(ranks, cycles):
    """A hundredth of each rank's particles goes to the rank before it in every cycle."""
    particles = [1.0] * ranks
    for _ in range(cycles):
        leaving = [0.0] + [0.01 * number for number in particles[1:]] + [0.0]
        particles = [n + leaving[i + 1] - leaving[i] for i, n in enumerate(particles)]
        yield list(particles)


@pytest.mark.any_mpi
def test_listing_in_python(printed_by):
    program = EXAMPLES / "08_mpistream" / "listing1.py"
    printed = printed_by(5, sys.executable, "-m", "mpi4py", program)
    assert printed == f"300 {3 * 4950}\n"


@pytest.mark.slow
def test_energetic_particles(printed_by, tmp_path):
    program = EXAMPLES / "09_energetic_particles" / "energetic_particles.py"
    command = [sys.executable, "-m", "mpi4py", program, "out.h5"]
    printed = printed_by(3, *command, "--cells", 6, "--steps", 150)
    times = re.findall(r"^(\w+): ([\d.]+) s of ([\d.]+) s went into output", printed, re.M)
    assert [name for name, _, _ in times] == ["streamed", "collective"]
    assert float(times[0][1]) < float(times[1][1]), "nobody waits for the file"
    number = int(
        re.search(r"(\d+) particles in 15 steps; the same in both files: True", printed)[1]
    )
    series = io.Series(str(tmp_path / "out.h5"), io.Access.read_only)
    tagged, found = set(), 0
    for step in series.iterations:
        particles = series.iterations[step].particles["energetic"]
        ids = particles["id"][io.Record_Component.SCALAR].load_chunk()
        energy = particles["energy"][io.Record_Component.SCALAR].load_chunk()
        v = [particles["velocity"][axis].load_chunk() for axis in "xyz"]
        offset = particles["positionOffset"]["y"].load_chunk()
        series.flush()
        np.testing.assert_allclose(energy, sum(part**2 for part in v) / 2)
        assert len(set(ids.tolist())) == len(ids) == len(offset)
        assert tagged <= set(ids.tolist()), "once tagged, always written"
        assert set(ids[energy <= 6].tolist()) <= tagged
        tagged |= set(ids.tolist())
        found += len(ids)
    assert found == number > 100


@pytest.mark.any_mpi
def test_threshold_solver(printed_by):
    program = EXAMPLES / "10_threshold_solver" / "threshold_solver.py"
    printed = printed_by(5, sys.executable, "-m", "mpi4py", program, "--slow", 0.02)
    some, slow_s, others, fast_s, _, late = re.fullmatch(
        r"MPI_Allreduce: (\d+) iterations in ([\d.]+) s\n"
        r"threshold collective: (\d+) iterations in ([\d.]+) s\n"
        r"saved: (-?\d+) %\n(\d+) contributions came when their verdict was known\n",
        printed,
    ).groups()
    assert some == others
    assert int(late) > 0
    assert float(slow_s) >= 0.02 * int(some), "all wait for the slow rank every time"
    assert float(fast_s) < float(slow_s)


@pytest.mark.any_mpi
def test_load_balance(printed_by):
    program = EXAMPLES / "11_load_balance" / "load_balance.py"
    printed = printed_by(4, sys.executable, "-m", "mpi4py", program, "--steps", 120)
    step, ratio, alerts, balanced, last = re.fullmatch(
        r"alert at step (\d+): the busiest rank has ([\d.]+) times the mean\n"
        r"(\d+) alerts, balanced (\d+) times; at the end ([\d.]+)\n",
        printed,
    ).groups()
    assert 0 < int(step) < 60
    assert 1.3 <= float(ratio) < 1.5
    assert int(alerts) >= int(balanced) >= 1
    assert float(last) < 1.6, "without balancing: 3"
