# SPDX-License-Identifier: Apache-2.0
"""The layout of a file of numbers alone, as the caller states it."""

from __future__ import annotations

from collections.abc import Mapping

from .._core import UnknownName
from ..base.arguments import to_dtype, to_ints, to_text, wrong_type
from ..base.messages import did_you_mean, listed
from ..describe.attributes import plain


def raw_layout(stated: object) -> tuple[object, ...]:
    """Return what the core needs of a dict with dtype, shape and more."""
    needed, optional = {"dtype", "shape"}, {"name", "dims", "offset", "attrs"}
    if not isinstance(stated, Mapping):
        raise wrong_type("the layout of a raw file", stated, "a dict with 'dtype' and 'shape'")
    if not needed <= set(stated) <= needed | optional:
        unknown = [name for name in stated if name not in needed | optional]
        raise UnknownName(
            f"cannot use the layout of a raw file: got {listed(stated)}; allowed: "
            "'dtype' and 'shape', and where wanted 'name', 'dims', 'offset', 'attrs'"
            + (did_you_mean(unknown[0], needed | optional) if unknown else "")
        )
    dtype = to_dtype(stated["dtype"], "the dtype of a raw file")
    dims = stated.get("dims", ())
    if not isinstance(dims, list | tuple):
        raise wrong_type("dims of a raw file", dims, "a list of names")
    return (
        stated.get("name", "data"),
        dtype.newbyteorder("=").name,
        to_ints(stated["shape"], "the shape of a raw file"),
        stated.get("offset", 0),
        not dtype.isnative,
        [to_text(dim, "a dimension of a raw file") for dim in dims],
        plain(stated.get("attrs")),
    )
