# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes on the command lines of benches, in the words of Fluvial's own options."""

from __future__ import annotations

import typer
from fluvial.base.byte_count import to_bytes

from fluvial import InvalidArgument


def parse_size(text: str, *, multiple_of: int = 1) -> int:
    """Return the bytes of ``256Mi``, ``4 GiB`` or ``8``: one `multiple_of` or more."""
    try:
        size = to_bytes(text.strip(), "size")
    except InvalidArgument as error:
        raise typer.BadParameter(str(error)) from None
    if size < multiple_of or size % multiple_of:
        raise typer.BadParameter(
            f"size: got {text!r}; allowed: multiples of {multiple_of} bytes, from {multiple_of} on"
        )
    return size
