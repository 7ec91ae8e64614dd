# SPDX-License-Identifier: Apache-2.0
"""What the analysis has measured, step by step, in the units of the laboratory."""

from __future__ import annotations

import dataclasses
import pathlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


@dataclass
class Record:
    """The measurements of T steps.

    Attributes
    ----------
    step
        (T,) molecular dynamics step.
    time
        (T,) picoseconds.
    temperature, thermostat
        (T,) kelvin: measured from the velocities, and asked for.
    energy
        (T,) potential energy per atom, meV.
    peaks
        (T, R) structure factor of the R reflections, each the mean over its star.
    q, s
        (B,) centres of the |q| bins in 1/Å, and (T, B) mean structure factor; NaN in empty bins.
    q_vectors, s_cold
        (Q,) |q| of every q vector in 1/Å, and its structure factor averaged over the cold crystal.
    detector, detector_extent
        (T, H, W) structure factor on the detector plane, NaN where the direct beam is; (4,) edges
        of the image along its first and second axis, 1/Å.
    speed_edges, speed_counts
        (V + 1,) metres per second, and (T, V) atoms.
    boltzmann_per_mass
        Boltzmann's constant over the mass of an atom, m²/s²/K.
    latency
        (T,) seconds from the end of the step in the simulation to the end of its analysis.
    """

    step: NDArray[np.integer]
    time: Floats
    temperature: Floats
    thermostat: Floats
    energy: Floats
    peaks: Floats
    q: Floats
    s: Floats
    q_vectors: Floats
    s_cold: Floats
    detector: Floats
    detector_extent: Floats
    speed_edges: Floats
    speed_counts: Floats
    boltzmann_per_mass: Floats
    latency: Floats

    def save(self, path: pathlib.Path) -> None:
        """Write everything into one .npz file."""
        np.savez(path, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)})

    @classmethod
    def load(cls, path: pathlib.Path) -> Record:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            return cls(**{f.name: arrays[f.name] for f in dataclasses.fields(cls)})
