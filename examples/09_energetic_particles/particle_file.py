# SPDX-License-Identifier: Apache-2.0
"""An openPMD HDF5 file of chosen particles, to which records are appended as they come."""

import h5py
import numpy as np

AXES = ("x", "y", "z")
PARTICLE = np.dtype(
    [("step", "i8"), ("id", "i8"), ("position", "f8", 3), ("velocity", "f8", 3), ("energy", "f8")]
)
LENGTH, TIME, MASS = 3.405e-10, 2.156e-12, 6.634e-26  # of argon in LAMMPS's reduced units, SI
RECORDS = {  # unit, and powers of length, mass, time and the rest
    "id": (1.0, [0, 0, 0, 0, 0, 0, 0]),
    "energy": (MASS * (LENGTH / TIME) ** 2, [2, 1, -2, 0, 0, 0, 0]),
    "position": (LENGTH, [1, 0, 0, 0, 0, 0, 0]),
    "velocity": (LENGTH / TIME, [1, 0, -1, 0, 0, 0, 0]),
}


class ParticleFile:
    """Iterations that grow in any order: a rank that is ahead need not wait for the others."""

    def __init__(self, path, timestep):
        self._timestep = timestep
        self._steps = {}
        self._file = h5py.File(path, "w")
        for name, value in {
            "openPMD": "1.1.0",
            "openPMDextension": np.uint32(0),
            "basePath": "/data/%T/",
            "particlesPath": "particles/",
            "iterationEncoding": "groupBased",
            "iterationFormat": "/data/%T/",
        }.items():
            self._file.attrs[name] = np.bytes_(value) if isinstance(value, str) else value

    def append(self, particles):
        """Write records, which may belong to several steps."""
        for step in np.unique(particles["step"]):
            group = self._steps.get(step) or self._begin(int(step))
            chosen = particles[particles["step"] == step]
            begin = group.attrs["number"]
            group.attrs["number"] = begin + len(chosen)
            for name in ("id", "energy"):
                self._extend(group[name], begin, chosen[name])
            for name in ("position", "velocity"):
                for axis, column in zip(AXES, chosen[name].T, strict=True):
                    self._extend(group[name][axis], begin, column)

    def close(self):
        """Finish the iterations: positions are absolute, so their offset is a constant 0."""
        for group in self._steps.values():
            number = group.attrs["number"]
            for axis in AXES:
                component = group.create_group(f"positionOffset/{axis}")
                component.attrs.update({"value": 0.0, "shape": [np.uint64(number)]})
                component.attrs["unitSI"] = LENGTH
            self._describe(group["positionOffset"], RECORDS["position"][1])
            del group.attrs["number"]
        self._file.close()

    def _begin(self, step):
        iteration = self._file.create_group(f"data/{step}")
        iteration.attrs.update({"time": step * self._timestep, "dt": self._timestep})
        iteration.attrs["timeUnitSI"] = TIME
        group = iteration.create_group("particles/energetic")
        group.attrs["number"] = 0
        for name, (unit, dimension) in RECORDS.items():
            components = [f"{name}/{axis}" for axis in AXES] if PARTICLE[name].shape else [name]
            for component in components:
                dtype = PARTICLE[name].base
                data = group.create_dataset(
                    component, (0,), dtype, maxshape=(None,), chunks=(1024,)
                )
                data.attrs["unitSI"] = unit
            self._describe(group[name], dimension)
        self._steps[step] = group
        return group

    @staticmethod
    def _describe(record, dimension):
        record.attrs.update({"unitDimension": np.array(dimension, "f8"), "timeOffset": 0.0})

    @staticmethod
    def _extend(dataset, begin, values):
        dataset.resize((begin + len(values),))
        dataset[begin:] = values
