# SPDX-License-Identifier: Apache-2.0
"""The demo's data in openPMD 1.1 terms: the datasets of a step, and attributes that explain them.

The stream and the files carry the same names and attributes, so the analysis reads either alike.
"""

from __future__ import annotations

from typing import Any

from demo.crystal import Argon

SPECIES = "atoms"
AXES = ("x", "y", "z")
UNITS = {"position": Argon.LENGTH, "velocity": Argon.VELOCITY}
"""SI value of the unit of each record."""
DIMENSIONS = {
    "position": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "velocity": (1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0),
}
"""Powers of length, mass, time, current, temperature, amount, luminous intensity."""

POSITION = [f"particles/{SPECIES}/position/{axis}" for axis in AXES]
VELOCITY = [f"particles/{SPECIES}/velocity/{axis}" for axis in AXES]


def series_attributes() -> dict[str, Any]:
    """Return the attributes of the series' root."""
    return {
        "openPMD": "1.1.0",
        "openPMDextension": 0,
        "basePath": "/data/%T/",
        "particlesPath": "particles/",
        "iterationEncoding": "groupBased",
        "iterationFormat": "/data/%T/",
        "software": "LAMMPS",
        "comment": "argon, an fcc crystal heated through melting at constant volume",
    }


def component_attributes(record: str) -> dict[str, Any]:
    """Return the attributes of one component of a record (``position`` or ``velocity``)."""
    return {
        "unitSI": UNITS[record],
        "unitDimension": DIMENSIONS[record],
        "timeOffset": 0.0,
    }


def step_attributes(
    box: tuple[float, float, float], thermostat: float, energy: float, published: float
) -> dict[str, Any]:
    """Return the attributes of a step beside its time.

    Parameters
    ----------
    box
        Lengths of the periodic box in the unit of position.
    thermostat, energy
        In reduced units: the temperature asked for, and the potential energy per atom.
    published
        Seconds since the epoch at which the step was handed over.
    """
    return {
        "timeUnitSI": Argon.TIME,
        "box": box,
        "atomMass": Argon.MASS,
        "thermostat": thermostat * Argon.TEMPERATURE,
        "potentialEnergy": energy * Argon.ENERGY,
        "published": published,
    }
