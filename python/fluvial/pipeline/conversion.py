# SPDX-License-Identifier: Apache-2.0
"""Which datasets are piped, and in which dtypes."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import to_dtype, to_text, unknown_name, wrong_type
from ..base.messages import did_you_mean, listed, shown

_ELEMENTS = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}

Names = str | Iterable[str] | None
DTypes = npt.DTypeLike | Mapping[str, npt.DTypeLike] | None


class DatasetChoice:
    """Names of datasets, or patterns of the shell: all unless said.

    >>> DatasetChoice("meshes/*").of(["meshes/E/x", "energy"])
    ['meshes/E/x']
    """

    def __init__(self, names: Names = None) -> None:
        given = [names] if isinstance(names, str) else names
        if given is not None and not isinstance(given, Iterable):
            raise wrong_type("datasets", names, "a name or a list of names or patterns, or None")
        self._patterns = None if given is None else [to_text(n, "a dataset") for n in given]

    def of(self, names: Iterable[str]) -> list[str]:
        """Return those of the names that are chosen."""
        if self._patterns is None:
            return list(names)
        return [n for n in names if any(_fits(n, pattern) for pattern in self._patterns)]

    def check(self, names: Iterable[str]) -> None:
        """Raise UnknownName where nothing in a step is called so."""
        known = list(names)
        for pattern in self._patterns or ():
            if not any(_fits(name, pattern) for name in known):
                raise unknown_name("no dataset of the first step is called so", pattern, known)


class Conversion:
    """The dtypes in which datasets arrive.

    Parameters
    ----------
    dtype
        One for all that have floating numbers; or a dict of names or patterns to dtypes, the first
        that fits, for datasets of any real numbers. None: as they are.
    """

    def __init__(self, dtype: DTypes = None) -> None:
        if dtype is None or isinstance(dtype, Mapping):
            self._rules = [
                (to_text(pattern, "a dataset"), _real(kind), "biuf")
                for pattern, kind in (dtype or {}).items()
            ]
        else:
            self._rules = [("*", _real(dtype), "f")]

    def dtype_of(self, name: str, dtype: np.dtype, is_coordinate: bool = False) -> np.dtype:
        """Return the dtype in which a dataset arrives.

        A coordinate, such as time, keeps its own unless it is named: days since 1900 of float32
        are five minutes apart.
        """
        for pattern, wanted, kinds in self._rules:
            if is_coordinate and pattern == "*":
                continue
            if _fits(name, pattern) and dtype.kind in kinds:
                return wanted
        return dtype

    def check(self, datasets: Mapping[str, np.dtype]) -> None:
        """Raise where a rule fits no dataset of a step."""
        for pattern, wanted, kinds in self._rules:
            if not any(_fits(n, pattern) and d.kind in kinds for n, d in datasets.items()):
                numbers = "floating numbers" if kinds == "f" else "real numbers"
                others = [f"{shown(n)} of {d}" for n, d in datasets.items() if _fits(n, pattern)]
                able = [name for name, kind in datasets.items() if kind.kind in kinds]
                raise InvalidArgument(
                    f"no dataset can become {wanted}: got {', '.join(others) or shown(pattern)}; "
                    f"allowed: datasets with {numbers}, which are {listed(able)}"
                    f"{'' if others else did_you_mean(pattern, able)}"
                )


def without_unsigned(attrs: Mapping[str, object], dtype: np.dtype) -> tuple[str, dict[str, object]]:
    """Return the sign that `_Unsigned` gives stored integers, and the attributes without it.

    Those that are elements become the integers that are meant. "": the integers have their own.

    >>> without_unsigned({"_Unsigned": "true", "_FillValue": -1}, np.dtype("int8"))
    ('u', {'_FillValue': np.uint8(255)})
    """
    found = dict(attrs)
    sign = {"true": "u", "false": "i"}.get(str(found.get("_Unsigned")), "")
    if dtype.kind not in "iu" or not sign:
        return "", found
    del found["_Unsigned"]
    for key in _ELEMENTS & found.keys():
        given = np.asarray(found[key])
        if given.dtype.kind in "iu":
            stored = given.astype(dtype)
            if np.array_equal(stored, given):  # else it is what is meant already
                found[key] = with_sign(stored, sign)[()]
    return sign, found


def with_sign(values: np.ndarray, sign: str) -> np.ndarray:
    """Return integers of the same bits, "i" or "u"; with "" the values."""
    return values.view(f"{values.dtype.str[0]}{sign}{values.dtype.itemsize}") if sign else values


def converted(values: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """Return the values in another dtype, rounded as it must be.

    Raises
    ------
    InvalidArgument
        A value is outside of what the dtype can hold.
    """
    if values.dtype == dtype:
        return values
    try:
        with np.errstate(over="raise", invalid="raise"):
            result = values.astype(dtype)
        fits = dtype.kind not in "iu" or bool(np.array_equal(result, np.trunc(values)))
    except FloatingPointError:
        fits = False
    if not fits:
        raise InvalidArgument(
            f"'{name}' does not fit into {dtype}: got {shown(values.min())} to "
            f"{shown(values.max())}; allowed: numbers that {dtype} can hold. Leave the dataset as "
            "it is, or give a wider dtype"
        )
    return result


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def _real(dtype: object) -> np.dtype:
    made = to_dtype(dtype)  # type: ignore[arg-type]
    if made.kind not in "iuf" or made.itemsize > 8:
        raise InvalidArgument(
            f"cannot convert to this dtype: got {made}; allowed: integers and floating numbers of "
            "at most 64 bits, such as 'f4'"
        )
    return made
