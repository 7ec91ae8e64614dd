# SPDX-License-Identifier: Apache-2.0
"""What is measured at each output, all as Fluvial operators, and how it becomes a `Record`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fluvial as fl
from demo.crystal import REFLECTIONS, STRIDE
from demo.openpmd_names import POSITION, VELOCITY
from demo.protocol import Plan
from demo.record import Floats, Record

Q_MAX = 14.0
"""Of all q vectors, in the inverse unit of position; 4.1 1/Å for argon, past (222)."""
Q_EDGES = np.linspace(0.0, Q_MAX, 141)
SPEED_EDGES = np.linspace(0.0, 8.0, 81)
"""Bins of speed in the unit of velocity."""
BOLTZMANN = 1.380649e-23
ANGSTROM, PICOSECOND = 1e-10, 1e-12
MILLIELECTRONVOLT = 1.602176634e-22

_ROWS = (
    *("step", "time", "temperature", "thermostat", "energy"),
    *("peaks", "s", "detector", "speed_counts", "latency"),
)
INPUTS = {"powder": POSITION, "detector": POSITION, "square": VELOCITY, "speed": VELOCITY}


def square(x: Floats, y: Floats, z: Floats) -> Floats:
    """Return the squared length of vectors given by components."""
    return x * x + y * y + z * z


def length(x: Floats, y: Floats, z: Floats) -> Floats:
    """Return the length of vectors given by components."""
    return np.sqrt(square(x, y, z))


def operators(box: tuple[float, ...]) -> dict[str, Any]:
    """Return the operators by name, for a periodic box with these lengths.

    ``powder``: S at every `STRIDE`-th reciprocal lattice vector up to `Q_MAX`, in all directions;
    ``detector``: S on the plane of x and y, at every vector; ``square``: mean of v²; ``speed``:
    histogram of the speed.
    """
    return {
        "powder": fl.ops.StructureFactor(box, Q_MAX, stride=STRIDE),
        "detector": fl.ops.StructureFactor.detector(box, Q_MAX, axes=(0, 1)),
        "square": fl.ops.Apply(square, fl.ops.Mean()),
        "speed": fl.ops.Apply(length, fl.ops.Histogram(SPEED_EDGES)),
    }


class Notebook:
    """Collects the results of each output in laboratory units.

    Parameters
    ----------
    plan
        Says which q vectors are Bragg reflections and which outputs are of the cold crystal.
    """

    def __init__(self, plan: Plan):
        self._crystal = plan.crystal
        self._stars: list[list[int]] = []
        cold = plan.heating.cold_outputs()
        self._cold = range(cold.start + 1, cold.stop + 1)  # by how many outputs there are then
        self._rows: dict[str, list[Any]] = {name: [] for name in _ROWS}
        self._fixed: dict[str, Any] = {}

    def add(
        self, step: int, seconds: float, results: dict[str, Any], attributes: Any, units: Any
    ) -> None:
        """Write down one output.

        Parameters
        ----------
        step, seconds
            Molecular dynamics step, and its time.
        results
            Of `operators`.
        attributes
            Of the step.
        units
            SI values of the units of position and velocity.
        """
        unit_length, unit_velocity = units
        mass = attributes["atomMass"]
        if not self._fixed:
            self._learn(results, unit_length, unit_velocity, mass)
        powder, rows = results["powder"], self._rows
        mean_square = float(results["square"]) * unit_velocity**2
        rows["step"].append(step)
        rows["time"].append(seconds / PICOSECOND)
        rows["temperature"].append(mass * mean_square / (3 * BOLTZMANN))
        rows["thermostat"].append(attributes["thermostat"])
        rows["energy"].append(attributes["potentialEnergy"] / MILLIELECTRONVOLT)
        rows["peaks"].append([powder.s[star].mean() for star in self._stars])
        rows["s"].append(powder.radial(Q_EDGES).s)
        rows["detector"].append(_without_beam(results["detector"].image()))
        rows["speed_counts"].append(results["speed"].counts)
        rows["latency"].append(time.time() - attributes["published"])
        if len(rows["step"]) in self._cold:
            self._s_cold += powder.s / len(self._cold)

    def latest(self) -> dict[str, Any]:
        """Return what the live view shows of the latest output."""
        names = ("step", "time", "temperature", "peaks", "latency")
        figures = {name: self._rows[name][-1] for name in names}
        figures["s"] = [float(f"{value:.3g}") for value in self._rows["s"][-1]]
        figures["q_last"] = float(self._fixed["q"][-1])
        return figures

    def record(self) -> Record:
        """Return everything written down."""
        rows = {name: np.asarray(values) for name, values in self._rows.items()}
        return Record(**rows, s_cold=self._s_cold, **self._fixed)

    def _learn(
        self, results: dict[str, Any], unit_length: float, unit_velocity: float, mass: float
    ) -> None:
        """Note what is the same for every output: q vectors, bins, units."""
        powder = results["powder"]
        per_angstrom = ANGSTROM / unit_length
        place = {tuple(hkl): i for i, hkl in enumerate(powder.hkl.tolist())}
        place |= {tuple(-i for i in hkl): place for hkl, place in place.items()}
        self._stars = [[place[q] for q in self._crystal.star(r)] for r in REFLECTIONS]
        self._s_cold = np.zeros(len(powder.s))
        self._fixed = {
            "q": powder.radial(Q_EDGES).q * per_angstrom,
            "q_vectors": np.linalg.norm(powder.q, axis=1) * per_angstrom,
            "detector_extent": np.asarray(results["detector"].extent) * per_angstrom,
            "speed_edges": SPEED_EDGES * unit_velocity,
            "boltzmann_per_mass": np.asarray(BOLTZMANN / mass),
        }


def _without_beam(image: Floats) -> NDArray[np.float32]:
    """Return the detector image without q = 0, where the direct beam would hide everything."""
    seen = image.astype(np.float32)
    seen[image.shape[0] // 2, image.shape[1] // 2] = np.nan
    return seen
