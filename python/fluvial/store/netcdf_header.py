# SPDX-License-Identifier: Apache-2.0
"""The header of a netCDF file of the format CDF-5 ("64-bit data").

Source: the netCDF user's guide, "File format specifications", and PnetCDF's CDF-5 page.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from .netcdf_variables import attribute_numbers, check_name, single_text

_TYPES = {
    **{"int8": 1, "int16": 3, "int32": 4, "float32": 5, "float64": 6},
    **{"uint8": 7, "uint16": 8, "uint32": 9, "int64": 10, "uint64": 11},
}
"""Numbers of the format's types by NumPy's names."""
RECORDS_AT = 4
"""The byte at which the number of records lies, 8 bytes."""
_CHAR = 2
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 0x0A, 0x0B, 0x0C


class NetcdfVariable(NamedTuple):
    """What the header says of a variable."""

    dtype: str
    dims: tuple[int, ...]
    """Numbers of its dimensions; the first is the record dimension where it has one."""
    attrs: Mapping[str, object]
    record_bytes: int
    """All of its bytes, or those of one record, padded."""
    begin: int


def netcdf_header(
    records: int,
    dims: Mapping[str, int],
    attrs: Mapping[str, object],
    variables: Mapping[str, NetcdfVariable],
) -> bytes:
    """Return the bytes of a header; a dimension of length 0 is that of the records.

    Raises
    ------
    InvalidArgument
        A name or an attribute that the format does not have.
    """
    out = [b"CDF\x05", struct.pack(">Q", records)]
    out += _list_of(_DIMENSIONS, len(dims))
    for name, length in dims.items():
        out += [_name(name, "an axis"), struct.pack(">Q", length)]
    out += _attributes(attrs, "the series")
    out += _list_of(_VARIABLES, len(variables))
    for name, variable in variables.items():
        out += [_name(name, "a dataset"), struct.pack(">Q", len(variable.dims))]
        out += [struct.pack(">Q", number) for number in variable.dims]
        out += _attributes(variable.attrs, f"'{name}'")
        kind = _TYPES[variable.dtype]
        out.append(struct.pack(">IQQ", kind, variable.record_bytes, variable.begin))
    return b"".join(out)


def padded(size: int) -> int:
    """Return a number of bytes rounded up to a multiple of four.

    >>> padded(0), padded(5)
    (0, 8)
    """
    return -(-size // 4) * 4


def _list_of(tag: int, count: int) -> list[bytes]:
    return [struct.pack(">IQ", tag if count else 0, count)]


def _name(name: str, what: str) -> bytes:
    """Return a name as the format stores it."""
    check_name(name, what)
    return _bytes(name.encode())


def _bytes(text: bytes) -> bytes:
    return struct.pack(">Q", len(text)) + text.ljust(padded(len(text)), b"\0")


def _attributes(attrs: Mapping[str, object], what: str) -> list[bytes]:
    out = _list_of(_ATTRIBUTES, len(attrs))
    for name, said in attrs.items():
        out.append(_name(name, f"an attribute of {what}"))
        value = single_text(said)
        if isinstance(value, str):
            out += [struct.pack(">I", _CHAR), _bytes(value.encode())]
            continue
        numbers = attribute_numbers(name, value, what)
        raw = numbers.astype(numbers.dtype.newbyteorder(">")).tobytes()
        out.append(struct.pack(">IQ", _TYPES[numbers.dtype.name], numbers.size))
        out.append(raw.ljust(padded(len(raw)), b"\0"))
    return out
