# SPDX-License-Identifier: Apache-2.0
"""The lowest sea-level pressure of each time step of WRF output, and where it is.

python sea_level_pressure.py wrfout.nc
mpiexec -n 2 python sea_level_pressure.py wrfout.nc --check
"""

import argparse

import netCDF4
import numpy as np
from mpi4py import MPI

import fluvial as fl

INPUTS = ["PSFC", "T2", "Q2", "HGT"]


def sea_level_pressure(surface, warmth, vapour, height):
    """Pressure in hPa, hydrostatic, through the virtual temperature half-way down to the sea."""
    warmth, vapour, height = (a.astype(float) for a in (warmth, vapour, height))
    between = warmth * (1 + 0.608 * vapour) + 0.0065 * height / 2
    return surface / 100 * np.exp(9.81 * height / (287.0 * between))


def check(path, found):
    """Compare with netCDF4 and NumPy, one step after the other."""
    with netCDF4.Dataset(path) as file:
        for step in range(len(file.dimensions["Time"])):
            pressure = sea_level_pressure(*(file[n][step].data for n in INPUTS))
            y, x = np.unravel_index(np.argmin(pressure), pressure.shape)
            assert (found.south_north_index[step], found.west_east_index[step]) == (y, x), step
            np.testing.assert_allclose(found[step], pressure[y, x], rtol=1e-12)


def main():
    """Reduce, print and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="of the file")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
    options = parser.parse_args()
    lowest = fl.ops.Apply(sea_level_pressure, "argmin")
    with fl.open(options.path) as file:
        found = file.reduce(lowest, INPUTS, over=("south_north", "west_east"))
    if MPI.COMM_WORLD.rank == 0:
        print("lowest sea-level pressure")
        for step, hpa in enumerate(found.values):
            y, x = int(found.south_north_index[step]), int(found.west_east_index[step])
            print(f"{step:4} {hpa:9.3f} hPa at ({y}, {x})")
    if options.check:
        check(options.path, found)
        print(f"rank {MPI.COMM_WORLD.rank}: as NumPy has it")


if __name__ == "__main__":
    main()
