# SPDX-License-Identifier: Apache-2.0
"""A made-up run of the demo whose figures are known."""

import numpy as np
import pytest

from demo.comparison import Comparison, Span
from demo.crystal import REFLECTIONS, Argon, Crystal
from demo.physics import maxwell_boltzmann
from demo.protocol import Heating, Plan
from demo.record import Record

ANGSTROM_PER_SIGMA = Argon.LENGTH * 1e10


@pytest.fixture
def crystal():
    return Crystal((8, 12, 12))


@pytest.fixture
def heating():
    return Heating(steps=500, every=10)


@pytest.fixture
def plan(crystal, heating):
    return Plan(crystal, heating, 2, 3, "melt", "/contact", "/files", "/results")


@pytest.fixture
def record(crystal, heating):
    """Return a crystal that melts at output 30, with its first peak where the lattice says."""
    outputs = heating.outputs
    step = np.arange(outputs) * heating.every
    thermostat = np.array([heating.temperature(s) for s in step]) * Argon.TEMPERATURE
    height = np.where(np.arange(outputs) < 30, 2000.0, 2.0)
    peak_q = np.array([crystal.q_norm(r) for r in REFLECTIONS]) / ANGSTROM_PER_SIGMA
    q = np.linspace(0.05, 4.1, 60)
    s = np.ones((outputs, 60))
    s[:, 0] = np.nan
    for at in peak_q:
        s[:, np.argmin(abs(q - at))] = height
    q_vectors = np.concatenate([q, peak_q])
    edges = np.linspace(0, 1000, 51)
    per_mass = Argon.BOLTZMANN / Argon.MASS
    detector = np.ones((outputs, 11, 9), dtype=np.float32)
    detector[:, 5, 4] = np.nan
    return Record(
        step=step,
        time=step * 0.0108,
        temperature=thermostat,
        thermostat=thermostat,
        energy=np.full(outputs, -70.0),
        peaks=np.tile(height[:, None], (1, len(REFLECTIONS))),
        q=q,
        s=s,
        q_vectors=q_vectors,
        s_cold=np.concatenate([np.full(60, 0.1), np.full(len(peak_q), 2000.0)]),
        detector=detector,
        detector_extent=np.array([-4.1, 4.1, -4.0, 4.0]),
        speed_edges=edges,
        speed_counts=np.array([1e5 * maxwell_boltzmann(edges, t, per_mass) for t in thermostat]),
        boltzmann_per_mass=np.array(per_mass),
        latency=np.full(outputs, 0.02),
    )


@pytest.fixture
def comparison():
    return Comparison(
        stream=(
            Span("simulation", 0.0, 1.0, 1.1, 9.0, 9.5),
            Span("analysis", 0.1, 1.1, 1.25, 9.9, 10.0),
        ),
        files=(
            Span("simulation", 0.0, 1.0, 1.1, 8.0, 8.5),
            Span("analysis", 8.6, 9.6, 9.75, 14.5, 15.0),
        ),
        bytes_moved=160_000_000,
        lag_most=3,
        bytes_viewed=150_000_000,
        bytes_copied=10_000_000,
        staging_rate=3.21e9,
        figures={"stream simulation": {"simulating": 7.5, "writing": 0.5}},
        syncing=0.42,
        versions={"LAMMPS": "20250722", "MPI": "MPICH <5>"},
    )
