# SPDX-License-Identifier: Apache-2.0
"""What a caller may pass by mistake, and which answers are fit for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import fluvial as fl


class Stranger:
    """An instance of a class that no library knows."""


# Made anew for each call: a generator is empty after one.
WRONG: dict[str, Callable[[], Any]] = {
    "a float": lambda: 2.5,
    "a str": lambda: "wrong",
    "None": lambda: None,
    "a bool": lambda: True,
    "a negative int": lambda: -3,
    "a huge int": lambda: 2**70,
    "an int of 63 bits": lambda: 2**63 - 1,
    "bytes": lambda: b"wrong",
    "a ragged list": lambda: [[1, 2], [3]],
    "an empty list": lambda: [],
    "a list of str": lambda: ["a", "b"],
    "a tuple of floats": lambda: (4 / 2,),
    "a tuple of None": lambda: (None,),
    "an object": object,
    "NaN": lambda: math.nan,
    "an infinite float": lambda: math.inf,
    "an array of objects": lambda: np.array([object(), None]),
    "an array of str": lambda: np.array(["a", "b"]),
    "an array of times": lambda: np.array(["2000-01-01"], "datetime64[ns]"),
    "an array of five dimensions": lambda: np.zeros((1, 2, 1, 2, 1)),
    "an array of 20 dimensions": lambda: np.zeros((1,) * 20),
    "a complex array": lambda: np.zeros(3, complex),
    "a big-endian array": lambda: np.zeros(3, ">f8"),
    "a long array": lambda: np.arange(1000.0),
    "a masked array": lambda: np.ma.masked_array([1, 2, 3], [True, False, False]),
    "a dict": lambda: {"a": 1},
    "a dict of ints": lambda: {1: 2},
    "a set": lambda: {1, 2},
    "a generator": lambda: (i for i in range(2)),
    "a class": lambda: fl.ops.Mean,
    "an operator": fl.ops.Mean,
    "a function": lambda: len,
    "a stranger": Stranger,
    "a slice": lambda: slice("a", 2.5),
    "an ellipsis": lambda: ...,
    "a long str": lambda: "x" * 480,
    "a str with NUL": lambda: "a\0b",
    "half of a character": lambda: "\udc80",
}

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_RAW = ("incompatible function arguments", "bad_cast", "bad_alloc", "std::", "NULL")
_CHARACTERS_MAX = 700


def fault_of(error: BaseException) -> str | None:
    """Return what is wrong with the answer to a wrong call; None for a good one."""
    said = str(error)
    if not isinstance(error, TypeError | ValueError | fl.Error):
        return f"{type(error).__name__} is no TypeError, ValueError or fluvial.Error: {said}"
    if "\n" in said:
        return f"more than one line: {said}"
    if not said.strip():
        return "an error without a message"
    if _ADDRESS.search(said):
        return f"an address in memory: {said}"
    if raw := [word for word in _RAW if word in said]:
        return f"what C++ says, {raw[0]!r}: {said}"
    if len(said) > _CHARACTERS_MAX:
        return f"{len(said)} characters: {said}"
    return None
