# SPDX-License-Identifier: Apache-2.0
"""What libraries of files would cut off without a word, refused before anything is written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._core import InvalidArgument
from ..base.messages import shown

HDF5_ATTRIBUTE_BYTES_MAX = 64_000
"""Of one attribute: HDF5 keeps it in a message of at most 65,535 bytes, with its name and type."""


def check_attributes(
    attrs: Mapping[str, object],
    what: str,
    bytes_max: int | None = None,
    *,
    slashes: bool = True,
) -> None:
    """Look at the names, the texts and the sizes of attributes of a series, group or dataset.

    Raises
    ------
    InvalidArgument
        A name or a text has a NUL, at which HDF5 and ADIOS2 end it, or one attribute has no name,
        takes more than `bytes_max` bytes, or has one of the `slashes` that are not allowed in its
        name.
    """
    for name, value in attrs.items():
        if not name:
            raise InvalidArgument(
                f"an attribute of {what} has no name: got ''; allowed: one character or more. "
                "Call it something"
            )
        check_text(name, f"the name of an attribute of {what}")
        if not slashes and "/" in name:
            raise InvalidArgument(
                f"an attribute of {what} would be one of another object in this format: got "
                f"{shown(name)}; allowed: names without '/'. Call it something else, or give "
                "engine='hdf5'"
            )
        texts = value if isinstance(value, list | tuple) else [value]
        for text in texts:
            if isinstance(text, str):
                check_text(text, f"attribute '{name}' of {what}")
        if bytes_max is not None and (size := _bytes_of(value)) > bytes_max:
            raise InvalidArgument(
                f"attribute '{name}' of {what} is too large for this format: got {size} bytes; "
                f"allowed: up to {bytes_max}. Put it as a dataset"
            )


def check_text(text: str, what: str) -> None:
    """Refuse a text that libraries in C take for a shorter one."""
    if "\0" in text:
        raise InvalidArgument(
            f"{what} has a NUL, at which this format would end it: got {shown(text)}; allowed: any "
            "other characters. Leave it out"
        )


def _bytes_of(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode(errors="surrogateescape"))
    array = np.asarray(value)
    if array.dtype.kind == "U":
        longest = max(
            (len(str(text).encode(errors="surrogateescape")) for text in array.flat), default=0
        )
        return array.size * longest
    return array.nbytes
