# SPDX-License-Identifier: Apache-2.0
"""The functions that every script has, and the names by which scripts import them."""

from __future__ import annotations

import math
import os
import random
import re
import statistics
import sys
from collections.abc import Callable, Sequence

from . import worker_functions
from .builtin import ANYTHING, ARRAY, KEY, NUMBER, NUMBERS, PLAIN, Builtin, Table
from .formats import formatted, shown_value
from .kinds import BLOB, BOOLEAN, FILE, FLOAT, INT, STRING, VOID, Kind, array_of
from .operators import float_power
from .surroundings import Surroundings, add_surroundings
from .variables import ArrayValue, Key

MODULES = (
    *("assert", "blob", "builtins", "files", "io", "location", "math", "python", "random"),
    *("stats", "string", "sys", "unix"),
)
"""What scripts may import without a file: the functions are there anyway, as in the paper."""

_ASSERTED: dict[str, tuple[str, Callable[..., bool]]] = {
    "assertEqual": ("==", lambda a, b: a == b),
    "assertNotEqual": ("!=", lambda a, b: a != b),
    "assertLT": ("<", lambda a, b: a < b),
    "assertLTE": ("<=", lambda a, b: a <= b),
    "assertGT": (">", lambda a, b: a > b),
    "assertGTE": (">=", lambda a, b: a >= b),
}


class AssertFailed(Exception):  # noqa: N818
    """An assertion of a script does not hold."""


def standard_library(surroundings: Surroundings) -> dict[str, Builtin]:
    """Return all functions by their names."""
    table = Table()
    for add in (_add_printing, _add_conversions, _add_strings, _add_math, _add_arrays, _add_files):
        add(table)
    _add_blobs(table)
    _add_system(table)
    add_surroundings(table, surroundings)
    return table


def _add_printing(table: Table) -> None:
    table.add("printf", [STRING], VOID, _printf, rest=PLAIN, has_effect=True)
    table.add("sprintf", [STRING], STRING, _sprintf, rest=PLAIN)
    table.add("trace", [], VOID, _trace, rest=ANYTHING, has_effect=True)
    table.add("assert", [BOOLEAN, STRING], VOID, _assert, optional=1, has_effect=True)
    for name, (sign, holds) in _ASSERTED.items():
        function = _comparison(sign, holds)
        table.add(name, [PLAIN, PLAIN, STRING], VOID, function, optional=1, has_effect=True)


def _printf(text: str, *values: object) -> None:
    print(formatted(text, values))


def _sprintf(text: str, *values: object) -> str:
    return formatted(text, values)


def _trace(*values: object) -> None:
    print("trace: " + ",".join(map(shown_value, values)))


def _assert(condition: bool, message: str = "") -> None:
    if not condition:
        raise AssertFailed(f"assertion failed: {message}" if message else "assertion failed")


def _comparison(sign: str, holds: Callable[..., bool]) -> Callable[..., None]:
    def compare(left: object, right: object, message: str = "") -> None:
        if not holds(left, right):
            failed = f"got {shown_value(left)} and {shown_value(right)}; allowed: left {sign} right"
            raise AssertFailed(f"assertion failed: {message + ': ' if message else ''}{failed}")

    return compare


def _add_conversions(table: Table) -> None:
    for name in ("toint", "string2int", "parseInt"):
        table.add(name, [STRING], INT, _to_int)
    for name in ("tofloat", "string2float", "parseFloat"):
        table.add(name, [STRING], FLOAT, _to_float)
    table.add("fromint", [INT], STRING, str)
    table.add("fromfloat", [FLOAT], STRING, str)
    table.add("itof", [INT], FLOAT, float)
    table.add("int2float", [INT], FLOAT, float)
    table.add("float2int", [FLOAT], INT, _whole(math.trunc))
    table.add("toString", [PLAIN], STRING, shown_value)
    # Types as functions:
    truncated = _whole(math.trunc)
    table.add("int", [PLAIN], INT, lambda v: _to_int(v) if isinstance(v, str) else truncated(v))
    table.add("float", [PLAIN], FLOAT, lambda v: _to_float(v) if isinstance(v, str) else float(v))
    table.add("string", [PLAIN], STRING, shown_value)


def _to_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"got {text!r}; allowed: a whole number") from None


def _to_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"got {text!r}; allowed: a number") from None


def _add_strings(table: Table) -> None:
    table.add("strcat", [], STRING, lambda *v: "".join(map(shown_value, v)), rest=PLAIN)
    table.add("strlen", [STRING], INT, len)
    table.add("length", [STRING], INT, len)
    table.add("substring", [STRING, INT, INT], STRING, lambda s, a, n: s[a : a + n])
    table.add("toupper", [STRING], STRING, str.upper)
    table.add("tolower", [STRING], STRING, str.lower)
    table.add("trim", [STRING], STRING, str.strip)
    table.add("find", [STRING, STRING], INT, str.find)
    table.add("count", [STRING, STRING], INT, str.count)
    table.add("replace_all", [STRING, STRING, STRING], STRING, str.replace)
    table.add("matches", [STRING, STRING], BOOLEAN, lambda s, p: re.fullmatch(p, s) is not None)
    table.add("split", [STRING, STRING], array_of(STRING), _split, optional=1)
    table.add("join", [array_of(STRING), STRING], STRING, lambda a, s: s.join(a.values()))


def _split(text: str, delimiter: str | None = None) -> list[str]:
    if delimiter == "":
        raise ValueError("split: got an empty delimiter; allowed: one character or more")
    return text.split(delimiter)


def _add_math(table: Table) -> None:
    whole: dict[str, Callable[[float], int]]
    whole = {"floor": math.floor, "ceil": math.ceil, "round": _round}
    for name, function in whole.items():
        table.add(name, [FLOAT], INT, _whole(function))
    for name in ("sqrt", "exp", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "fabs"):
        table.add(name, [FLOAT], FLOAT, _as_in_c(getattr(math, name)))
    for name in ("log", "ln"):
        table.add(name, [FLOAT], FLOAT, _as_in_c(math.log))
    table.add("atan2", [FLOAT, FLOAT], FLOAT, math.atan2)
    table.add("pow", [FLOAT, FLOAT], FLOAT, float_power)
    table.add("is_nan", [FLOAT], BOOLEAN, math.isnan)
    table.add("abs", [NUMBER], _first, abs)
    table.add("abs_integer", [INT], INT, abs)
    table.add("abs_float", [FLOAT], FLOAT, abs)
    for name, chosen in {"max": max, "min": min}.items():
        table.add(name, [NUMBER, NUMBER], _widest, chosen)
        table.add(f"{name}_integer", [INT, INT], INT, chosen)
        table.add(f"{name}_float", [FLOAT, FLOAT], FLOAT, chosen)
    table.add("random", [], FLOAT, random.random, has_effect=True)
    table.add("randint", [INT, INT], INT, _randint, has_effect=True)
    for name in ("sum", "sum_integer", "sum_float"):
        table.add(name, [NUMBERS], _of_elements, lambda a: sum(a.values()))
    table.add("avg", [NUMBERS], FLOAT, lambda a: float(statistics.fmean(_some(a))))
    table.add("std", [NUMBERS], FLOAT, lambda a: float(statistics.pstdev(_some(a))))
    table.add("max_of", [NUMBERS], _of_elements, lambda a: max(_some(a)))
    table.add("min_of", [NUMBERS], _of_elements, lambda a: min(_some(a)))


def _whole(function: Callable[[float], int]) -> Callable[[float], int]:
    def computed(value: float) -> int:
        if not math.isfinite(value):
            raise ValueError(f"got {value:g}; allowed: a finite number")
        return function(value)

    return computed


def _randint(first: int, end: int) -> int:
    if first >= end:
        raise ValueError(f"got {first} and {end}; allowed: a second number above the first")
    return random.randrange(first, end)


def _round(value: float) -> int:
    """Round as C does: halves away from 0."""
    part, whole = math.modf(value)
    return int(whole) + (abs(part) >= 0.5) * int(math.copysign(1, value))


def _as_in_c(function: Callable[[float], float]) -> Callable[[float], float]:
    def computed(value: float) -> float:
        try:
            return float(function(value))
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if value == 0 else math.nan

    return computed


def _first(given: Sequence[Kind]) -> Kind:
    return given[0]


def _widest(given: Sequence[Kind]) -> Kind:
    return FLOAT if FLOAT in given else INT


def _of_elements(given: Sequence[Kind]) -> Kind:
    return given[0].element


def _some(array: dict[Key, float]) -> list[float]:
    if not array:
        raise ValueError("got an array without elements; allowed: one with at least one")
    return list(array.values())


def _add_arrays(table: Table) -> None:
    table.add("size", [ARRAY], INT, lambda array: len(array.elements), sees_arrays=True)
    table.add("contains", [ARRAY, KEY], BOOLEAN, _contains, sees_arrays=True)


def _contains(array: ArrayValue, key: Key) -> bool:
    return key in array.elements


def _add_files(table: Table) -> None:
    for name in ("input", "input_file"):
        table.add(name, [STRING], FILE, worker_functions.existing)
    table.add("filename", [FILE], STRING, str)
    table.add("read", [FILE], STRING, worker_functions.read_text)
    table.add("file_lines", [FILE], array_of(STRING), worker_functions.read_lines)
    table.add("file_exists", [STRING], BOOLEAN, os.path.exists)
    table.add("basename_string", [STRING], STRING, os.path.basename)
    table.add("dirname_string", [STRING], STRING, os.path.dirname)
    table.add("glob", [STRING], array_of(FILE), worker_functions.found_files)
    table.add("write", [STRING], FILE, worker_functions.write_text, as_task=True, has_effect=True)


def _add_blobs(table: Table) -> None:
    table.add("blob_size", [BLOB], INT, len)
    table.add("blob_from_string", [STRING], BLOB, str.encode)
    table.add("string_from_blob", [BLOB], STRING, bytes.decode)
    table.add("blob_from_floats", [array_of(FLOAT)], BLOB, worker_functions.floats_as_bytes)
    table.add("floats_from_blob", [BLOB], array_of(FLOAT), worker_functions.bytes_as_floats)
    table.add("blob_read", [FILE], BLOB, worker_functions.read_bytes)
    table.add(
        "blob_write", [BLOB], FILE, worker_functions.write_bytes, as_task=True, has_effect=True
    )


def _add_system(table: Table) -> None:
    table.add("getenv", [STRING], STRING, lambda name: os.environ.get(name, ""))
    table.add("sleep", [FLOAT], VOID, worker_functions.sleep, as_task=True, has_effect=True)
    table.add(
        "python", [STRING, STRING], STRING, worker_functions.python, optional=1, as_task=True,
        has_effect=True,
    )  # fmt: skip
    table.add("make_void", [], VOID, lambda: None)
    table.add("propagate", [], VOID, lambda *_: None, rest=ANYTHING)


def flush() -> None:
    """Show what was printed."""
    sys.stdout.flush()
