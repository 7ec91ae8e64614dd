# SPDX-License-Identifier: Apache-2.0
"""Files of a model that writes its history in a row of them, by libraries of other programs."""

import contextlib
import os
import time

import h5netcdf.legacyapi
import netCDF4
import numpy as np
import scipy.io

import fluvial as fl

LIMITS = {"rendezvous_timeout": 60, "step_timeout": 60}


def classic(path):
    """Open a file for writing: netCDF classic by the netCDF library."""
    return netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET")


@contextlib.contextmanager
def by_scipy(path):
    """Open a file for writing: netCDF classic by SciPy."""
    with scipy.io.netcdf_file(path, "w", version=2) as file:
        file.sync = file.flush
        yield file


def by_netcdf4(path):
    """Open a file for writing: netCDF-4 by the netCDF library."""
    return netCDF4.Dataset(path, "w", format="NETCDF4")


def by_h5netcdf(path):
    """Open a file for writing: netCDF-4 by h5netcdf."""
    return h5netcdf.legacyapi.Dataset(path, "w")


def define(file, length=5, units="days since 2000-01-01", dtype="f8", name="v"):
    """Lay out what a model writes: records of time, and the grid."""
    file.createDimension("time", None)
    file.createDimension("x", length)
    times = file.createVariable("time", "f8", ("time",))
    times.units = units
    file.createVariable("x", "f8", ("x",))[:] = np.arange(length)
    file.createVariable(name, dtype, ("time", "x"))


def add(file, value, name="v"):
    """Add a record with this time and this number everywhere."""
    record = file.variables["time"].shape[0]
    if isinstance(file, h5netcdf.legacyapi.Dataset):
        file.resize_dimension("time", record + 1)
    file.variables["time"][record] = value
    file.variables[name][record] = np.full(file.variables["x"].shape[0], value)
    file.sync()


def write(path, values, how=classic, **options):
    """Write a whole file, one record for each value."""
    with how(path) as file:
        define(file, **options)
        for value in values:
            add(file, value, options.get("name", "v"))


def write_old(path, values, **options):
    """Write a file that has not changed for an hour, so that nobody waits for more of it."""
    write(path, values, **options)
    then = time.time() - 3600
    os.utime(path, (then, then))


def check(step, number):
    """Check that a step is the one that was written with its number."""
    assert step.index == number
    assert (step["v"].read().values == number).all()


def follow_history(tmp_path, pattern="his_*.nc", **options):
    """Follow files of a folder until it has one that is called "done"."""
    return fl.open(tmp_path / pattern, follow=tmp_path / "done", **(LIMITS | options))
