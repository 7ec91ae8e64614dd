# SPDX-License-Identifier: Apache-2.0
"""What is in files: coordinates, layouts of raw ones, several files as one."""

# First of all: what imports xarray imports the accessor (fluvial.xarray), and that this package.
import xarray  # noqa: F401
