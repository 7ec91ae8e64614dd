# SPDX-License-Identifier: Apache-2.0
"""The paper's application: particles that ranks trace together, and the sweep of that."""

import pathlib
import re
import subprocess

import numpy as np
import pytest
from harness.fluvial_run import FluvialRun

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "16_particle_tracer"
PROGRAM = f"""
import sys
sys.path.insert(0, {str(EXAMPLE)!r})
import numpy as np
from mpi4py import MPI
from tracer import Problem, abc_flow, taylor_green, trace, trace_alone

comm = MPI.COMM_WORLD
for field in (abc_flow, taylor_green):
    problem = Problem(field=field, points=24, particles=300, steps=60)
    alone = trace_alone(problem)
    for blocks in (1, 2, 5):
        ended, rounds = trace(comm, blocks, problem)
        parts = comm.gather(ended)
        if comm.rank == 0:
            rows = np.concatenate(parts)
            rows = rows[np.argsort(rows[:, 0])]
            assert (rows[:, 0] == np.arange(300)).all(), "each particle ends once"
            assert (rows[:, 1] == 60).all()
            print(field.__name__, np.abs(rows[:, 2:] - alone).max(), np.abs(alone).max(), rounds)
"""


@pytest.fixture
def run(tmp_path):
    with FluvialRun(tmp_path) as run:
        yield run


@pytest.mark.any_mpi
def test_blocks_and_ranks_do_not_change_where_particles_end(run):
    run.write("program.py", PROGRAM)
    lines = run("-n", 3, "program.py").lines
    assert len(lines) == 6
    for line in lines:
        _, off, largest, rounds = line.split()
        assert float(off) <= 4 * np.spacing(float(largest)), "to round-off"
        assert int(rounds) > 1, "particles are handed over"


def test_the_method_is_of_fourth_order_and_the_field_is_the_flow(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    from tracer import Block, Problem, abc_flow, cut

    problem = Problem(points=64)
    block = Block(problem, (0, 0, 0), (64, 64, 64))
    at = np.random.default_rng(1).uniform(0, 64, (50, 3))
    exact = np.stack(abc_flow(*(at.T * 2 * np.pi / 64)), axis=1)
    assert np.abs(block.velocity(at) - exact).max() < 0.01, "between points 0.1 apart"
    corner = np.floor(at)
    exact = np.stack(abc_flow(*(corner.T * 2 * np.pi / 64)), axis=1)
    assert np.abs(block.velocity(corner) - exact).max() < 1e-12, "at the points"

    def turned(step, steps):
        """Where a particle of a rigid rotation is after a time of 1."""
        block.step = step
        block.velocity = lambda at: np.stack([-at[:, 1], at[:, 0], 0 * at[:, 2]], axis=1)
        at = np.array([[1.0, 0.0, 0.0]])
        for _ in range(steps):
            at = block.moved(at)
        return np.abs(at - [[np.cos(1), np.sin(1), 0]]).max()

    assert turned(1 / 10, 10) / turned(1 / 20, 20) == pytest.approx(16, rel=0.1)
    assert [cut(n) for n in (1, 2, 6, 8, 12)] == [
        (1, 1, 1), (2, 1, 1), (3, 2, 1), (2, 2, 2), (3, 2, 2)
    ]  # fmt: skip


@pytest.mark.any_mpi
def test_the_sweep_prints_times_and_draws_them(run):
    (run.where / "tracer").symlink_to(EXAMPLE)
    words = ["--trace", "timeline.png", "-e", "PARTICLES=60", "-n", 3, "tracer/sweep.swift"]
    lines = run(*words, "-blocks=1").lines
    found = [re.fullmatch(r"RESULT: bf=(\d) np=(\d) -> time=(\d+\.\d{3})", line) for line in lines]
    assert {(m[1], m[2]) for m in found if m} == {("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")}
    assert any(line.startswith("fastest: bf=") for line in lines)
    for name in ("contour.png", "streamlines.png", "timeline.png"):
        assert (run.where / name).read_bytes().startswith(b"\x89PNG"), name


def test_a_contour_is_drawn_from_what_a_sweep_has_printed(tmp_path):
    model = ["simulate", "script", "-n", "518", "--model", "model.py", "figure9.swift"]
    command = f"python -m fluvial {' '.join(model)} | python pictures.py {tmp_path / 'contour.png'}"
    ended = subprocess.run(
        command, shell=True, cwd=EXAMPLE, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "fastest: bf=8 np=256, 137.223 s\n"
    assert (tmp_path / "contour.png").stat().st_size > 10_000
