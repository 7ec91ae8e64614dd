# SPDX-License-Identifier: Apache-2.0
"""The strongest 10 m wind of each time step of WRF output, from two components, and its place.

python wind_speed.py wrfout.nc
mpiexec -n 2 python wind_speed.py wrfout.nc --check
"""

import argparse

import netCDF4
import numpy as np
from mpi4py import MPI

import fluvial as fl

INPUTS = ["U10", "V10"]


def speed(u, v):
    """In m/s; of doubles, so that hardly any two are equal."""
    return np.hypot(u.astype(float), v.astype(float))


def check(path, found):
    """Compare with netCDF4 and NumPy, one step after the other."""
    with netCDF4.Dataset(path) as file:
        for step in range(len(file.dimensions["Time"])):
            wind = speed(*(file[n][step].data for n in INPUTS))
            y, x = np.unravel_index(np.argmax(wind), wind.shape)
            assert (found.south_north_index[step], found.west_east_index[step]) == (y, x), step
            np.testing.assert_allclose(found[step], wind[y, x], rtol=1e-12)


def main():
    """Reduce, print and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="of the file")
    parser.add_argument("--check", action="store_true", help="compare with NumPy")
    options = parser.parse_args()
    strongest = fl.ops.Apply(speed, "argmax")
    with fl.open(options.path) as file:
        found = file.reduce(strongest, INPUTS, over=("south_north", "west_east"))
    if MPI.COMM_WORLD.rank == 0:
        print("strongest 10 m wind")
        for step, speed_m_s in enumerate(found.values):
            y, x = int(found.south_north_index[step]), int(found.west_east_index[step])
            print(f"{step:4} {speed_m_s:9.3f} m/s at ({y}, {x})")
    if options.check:
        check(options.path, found)
        print(f"rank {MPI.COMM_WORLD.rank}: as NumPy has it")


if __name__ == "__main__":
    main()
