# SPDX-License-Identifier: Apache-2.0
"""xarray's `keep_attrs`: which attributes the result of a reduction has."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from ..base.arguments import to_bool
from ..compute.registry import Reduced


def with_attrs(found: Reduced, attrs: Mapping[str, object], keep: bool | None) -> Reduced:
    """Return a result with all attributes of what was reduced, without any, or (None) as it is."""
    if keep is None or not isinstance(found, xr.DataArray | xr.Dataset):
        return found
    kept = dict(attrs) if to_bool(keep, "keep_attrs") else {}
    if isinstance(found, xr.DataArray):
        found.attrs = kept
        return found
    for variable in found.data_vars.values():
        variable.attrs = dict(kept)
    return found
