# SPDX-License-Identifier: Apache-2.0
"""What variables, names and attributes of netCDF may be, in either of its formats."""

from __future__ import annotations

import numpy as np

from .._core import InvalidArgument
from ..base.messages import listed, shown
from ..describe.attributes import array_of
from .record_layout import RecordLayout, RecordVariable

DTYPES = (
    *("int8", "int16", "int32", "float32", "float64"),
    *("uint8", "uint16", "uint32", "int64", "uint64"),
)
"""Types of elements, by NumPy's names."""


def once_and_records(
    layout: RecordLayout,
) -> tuple[dict[str, RecordVariable], dict[str, RecordVariable]]:
    """Return the variables that are there once, and those of each record.

    Raises
    ------
    InvalidArgument
        netCDF does not have what was put.
    """
    for name, variable in layout.variables.items():
        _check_type(name, variable.dtype)
        if 0 in variable.shape:
            raise InvalidArgument(
                f"'{name}' has no elements: got shape {shown(variable.shape)}; allowed: axes "
                "of at least one element, as netCDF has them. Leave it out, or give "
                "engine='hdf5'"
            )
    once = {name: v for name, v in layout.variables.items() if not v.by_record}
    records = {name: v for name, v in layout.variables.items() if v.by_record}
    return once, records


def check_varies(layout: RecordLayout) -> None:
    """Refuse a first step that has nothing that changes with time.

    Raises
    ------
    InvalidArgument
        With what it has.
    """
    if not any(variable.by_record for variable in layout.variables.values()):
        raise InvalidArgument(
            "the first step has nothing that changes with time: got "
            f"{listed(layout.variables)}; allowed: a dataset that is no coordinate, or a time"
        )


def check_name(name: str, what: str) -> None:
    """Refuse a name that netCDF does not have.

    Raises
    ------
    InvalidArgument
        With the reason.
    """
    wrong = not name or "/" in name or name != name.strip() or not name.isprintable()
    if wrong or not (name[0].isalnum() or name[0] == "_" or ord(name[0]) > 127):
        raise InvalidArgument(
            f"{what} of a netCDF file cannot be called that: got {shown(name)}; allowed: letters, "
            "digits and signs without '/', the first a letter, a digit or '_'. Call it something "
            "else, or give engine='hdf5', which has paths"
        )


def single_text(value: object) -> object:
    """Return a list of one text as that text: netCDF has no lists of texts."""
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def attribute_numbers(name: str, value: object, what: str) -> np.ndarray:
    """Return the numbers of an attribute, which is no text, along one axis.

    Raises
    ------
    InvalidArgument
        netCDF has no such attribute.
    """
    numbers = np.atleast_1d(array_of(value))
    if numbers.dtype.kind == "b":
        numbers = numbers.astype("int8")
    if numbers.size == 0:
        numbers = numbers.astype("float64")
    if numbers.dtype.name not in DTYPES or numbers.ndim != 1:
        raise InvalidArgument(
            f"attribute '{name}' of {what} cannot be one of a netCDF file: got "
            f"{shown(value)}; allowed: text, a number, or numbers of {listed(DTYPES)}. Join "
            "texts to one"
        )
    return numbers


def _check_type(name: str, dtype: str) -> None:
    if dtype not in DTYPES:
        remedy = ". Put real and imaginary part" if "complex" in dtype else ""
        raise InvalidArgument(
            f"'{name}' has a dtype that files of netCDF do not have: got {dtype}; allowed: "
            f"{', '.join(DTYPES)}{remedy or '. Convert it'}, or give engine='hdf5'"
        )
