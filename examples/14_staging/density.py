# SPDX-License-Identifier: Apache-2.0
"""The middle of a chain: reads atoms, writes their density on a grid, step by step.

    fluvial run -n 3 simulation.py drop + -n 2 density.py drop density +
        -n 1 radial_profile.py density

Input and output may be streams or files, as their names say.
"""

import argparse

import numpy as np
from mpi4py import MPI

import fluvial as fl

POSITION = "particles/atoms/position"


def density_of(step, edge, cells, comm):
    """Return atoms a volume in each cell of a cubic grid: this rank's slab of it."""
    shares = step.mine("even-binpacking", [f"{POSITION}/{axis}" for axis in "xyz"])
    atoms = [
        np.concatenate([step[name][piece.selection] for piece in pieces] or [np.empty(0)])
        for name, pieces in shares.items()
    ]
    counts, _ = np.histogramdd(np.mod(atoms, edge).T, bins=cells, range=[(0, edge)] * 3)
    cuts = np.linspace(0, cells, comm.size + 1).astype(int)
    whole = np.empty(counts.shape)
    comm.Allreduce(np.ascontiguousarray(counts), whole)
    return whole[cuts[comm.rank] : cuts[comm.rank + 1]] / (edge / cells) ** 3, int(cuts[comm.rank])


def main():
    """Read a step, write its density, and so on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("destination")
    parser.add_argument("--cells", type=int, default=12, help="of the grid, along each axis")
    options = parser.parse_args()
    comm, cells = MPI.COMM_WORLD, options.cells
    with (
        fl.open(options.source, comm=comm) as source,
        fl.open(options.destination, "w", comm=comm) as destination,
    ):
        for step in source:
            edge = source.attrs["box"][0]
            grid = {"axisLabels": ["x", "y", "z"], "gridSpacing": [edge / cells] * 3}
            slab, first = density_of(step, edge, cells, comm)
            with destination.step(time=step.time, iteration=step.iteration) as out:
                out.put("meshes/density", slab, (first, 0, 0), (cells,) * 3, attrs=grid)


if __name__ == "__main__":
    main()
