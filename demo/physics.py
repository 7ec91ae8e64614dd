# SPDX-License-Identifier: Apache-2.0
"""What the measurements must show when a crystal melts, checked strictly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from demo.crystal import Argon, Crystal
from demo.protocol import Heating
from demo.record import Floats, Record

PEAK_TOLERANCE = 0.01
LEAST_FALL = 10.0
TEMPERATURE_TOLERANCE = 0.04


@dataclass(frozen=True)
class Check:
    """One statement about the run, with the figures that it rests on."""

    name: str
    passed: bool
    found: str
    allowed: str


def first_peak(q: Floats, s: Floats) -> float:
    """Return |q| of the first Bragg peak, found in the intensities alone.

    The first peak is at the smallest |q| whose intensity exceeds a tenth of the largest; its place
    is the intensity's centre of gravity within 3 % around it.

    Parameters
    ----------
    q, s
        (Q,) |q| and structure factor of single q vectors, in any order.
    """
    start = q[s > 0.1 * s.max()].min()
    near = np.abs(q - start) < 0.03 * start
    return float(np.average(q[near], weights=s[near]))


def fall(peak: Floats, heating: Heating) -> float:
    """Return by which factor a peak's mean intensity falls from the cold crystal to the melt.

    Parameters
    ----------
    peak
        (T,) intensity at every output.
    """
    return float(peak[heating.cold_outputs()].mean() / peak[heating.hot_outputs()].mean())


def melting_output(peak: Floats, heating: Heating) -> int | None:
    """Return the first output from which on the peak stays below a tenth of its cold intensity.

    None when it never does.
    """
    above = np.flatnonzero(peak >= peak[heating.cold_outputs()].mean() / LEAST_FALL)
    after = int(above[-1]) + 1
    return after if after < len(peak) else None


def maxwell_boltzmann(speed_edges: Floats, temperature: float, boltzmann_per_mass: float) -> Floats:
    """Return the share of atoms in each bin of speed, in equilibrium.

    Simpson's rule over each bin of sqrt(2/π) (m/kT)^(3/2) v² exp(-mv²/2kT).

    Parameters
    ----------
    speed_edges
        (V + 1,) metres per second.
    temperature
        Kelvin.
    boltzmann_per_mass
        k_B/m in m²/s²/K.
    """
    variance = boltzmann_per_mass * temperature

    def density(v: Floats) -> Floats:
        return np.sqrt(2 / np.pi) * v**2 * variance**-1.5 * np.exp(-(v**2) / (2 * variance))

    low, high = speed_edges[:-1], speed_edges[1:]
    return (high - low) / 6 * (density(low) + 4 * density((low + high) / 2) + density(high))


def speed_distance(counts: Floats, expected: Floats) -> float:
    """Return half the summed difference of two distributions: 0 the same, 1 nothing in common."""
    share = counts / counts.sum()
    return float(0.5 * np.abs(share - expected).sum())


def check(record: Record, crystal: Crystal, heating: Heating) -> list[Check]:
    """Judge a run; each check says what was found and what is allowed."""
    peak = record.peaks[:, 0]
    lattice_q = crystal.q_norm((1, 1, 1)) / (Argon.LENGTH * 1e10)
    found_q = first_peak(record.q_vectors, record.s_cold)
    off = found_q / lattice_q - 1
    times = fall(peak, heating)

    hot = heating.hot_outputs()
    temperature = float(record.temperature[hot].mean())
    asked = heating.hot * Argon.TEMPERATURE
    counts = record.speed_counts[hot].sum(axis=0)
    expected = maxwell_boltzmann(record.speed_edges, temperature, float(record.boltzmann_per_mass))
    distance = speed_distance(counts, expected)
    noise = 0.02 + float(np.sqrt(len(counts) / counts.sum()))
    planned = np.arange(heating.outputs) * heating.every
    return [
        Check(
            "the first Bragg peak, (111), is where the lattice says",
            abs(off) < PEAK_TOLERANCE,
            f"{found_q:.4f} 1/Å ({off:+.2%})",
            f"{lattice_q:.4f} 1/Å within {PEAK_TOLERANCE:.0%}",
        ),
        Check(
            "(111) falls on melting",
            times > LEAST_FALL,
            f"{times:,.0f}×",
            f"more than {LEAST_FALL:.0f}×",
        ),
        Check(
            "the melt has the thermostat's temperature",
            abs(temperature / asked - 1) < TEMPERATURE_TOLERANCE,
            f"{temperature:.1f} K",
            f"{asked:.1f} K within {TEMPERATURE_TOLERANCE:.0%}",
        ),
        Check(
            "its speeds are Maxwell and Boltzmann's",
            distance < noise,
            f"{distance:.2%} of the atoms elsewhere",
            f"less than {noise:.2%}",
        ),
        Check(
            "every output was analysed, in order",
            np.array_equal(record.step, planned),
            f"{len(record.step)} outputs",
            f"{heating.outputs}",
        ),
    ]
