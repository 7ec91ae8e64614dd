# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes as people write them."""

from __future__ import annotations

from .._core import InvalidArgument
from .arguments import to_index, to_int
from .messages import shown


def to_bytes(size: object, option: str) -> int:
    """Return a number of bytes from 1048576, "1 MiB", "256Mi", "2 GB"; None is 0.

    >>> to_bytes("1.5 KiB", "buffer")
    1536
    >>> to_bytes("2Mi", "buffer")
    2097152
    """
    if size is None:
        return 0
    if isinstance(size, str):
        units = {"B": 1}
        for power, letter in enumerate("KMGT", start=1):
            units[f"{letter}iB"] = units[f"{letter}i"] = 1024**power
            units[f"{letter}B"] = 1000**power
        number = size.rstrip("iBKMGT").strip()
        unit = size[len(size.rstrip("iBKMGT")) :] or "B"
        try:
            return int(float(number) * units[unit])
        except (ValueError, KeyError, OverflowError):
            raise InvalidArgument(
                f"{option}: cannot read a number of bytes: got {shown(size)}; "
                "allowed: a number, alone or with B, KiB or Ki, MiB or Mi, GiB or Gi, KB, MB …"
            ) from None
    return to_int(to_index(size, option, "an int, or a str like '2 GiB'"), option)
