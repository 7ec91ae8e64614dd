# SPDX-License-Identifier: Apache-2.0
"""Computing on files while they are read."""

# First of all: what imports xarray imports the accessor (fluvial.xarray), and that this package.
import xarray  # noqa: F401
