# SPDX-License-Identifier: Apache-2.0
"""Fluvial inside of xarray: the accessor of its objects."""
