# SPDX-License-Identifier: Apache-2.0
"""The outputs of the engines that write files."""

from __future__ import annotations

from typing import Literal

from .bp_output import BpOutput
from .compression import Compression
from .hdf5_output import Hdf5Output
from .netcdf4_output import Netcdf4Output
from .netcdf_output import NetcdfOutput
from .step_contents import Output
from .zarr_output import ZarrOutput


def new_output(
    engine: str,
    path: str,
    pattern: str | None,
    zarr_format: Literal[2, 3],
    compression: Compression | None,
) -> Output:
    """Return the output of an engine; `pattern` is that of files of one step each."""
    if engine == "netcdf":
        return NetcdfOutput(path)
    if engine == "netcdf4":
        return Netcdf4Output(path, compression)
    if engine == "zarr":
        return ZarrOutput(path, zarr_format, compression)
    if engine == "bp":
        return BpOutput(path, pattern)
    return Hdf5Output(path, pattern, compression)
