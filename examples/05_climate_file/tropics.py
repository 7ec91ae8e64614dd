# SPDX-License-Identifier: Apache-2.0
"""Means and maxima of the tropics over time, weighted by area, reduced while the file is read."""

import sys

from mpi4py import MPI

import fluvial as fl

t = fl.open(sys.argv[1])["temperature"].sel(lat=slice(-30, 30)).weighted("cos(lat)")
by_time = t.isel(level=0).reduce(["mean", "max"], over=("lat", "lon"))  # an xarray.Dataset
if MPI.COMM_WORLD.rank == 0:
    print(by_time.to_dataframe()[["mean", "max"]].round(3))
