# SPDX-License-Identifier: Apache-2.0
"""What operators do with values of which types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, SupportsFloat, cast

from ..base.messages import shown
from .formats import formatted
from .kinds import BOOLEAN, FLOAT, INT, STRING, Kind

Function = Callable[..., Any]
_NUMBERS = (INT, FLOAT)
_BITS = 64  # of whole numbers


def binary(sign: str, left: Kind, right: Kind) -> tuple[Kind, Function] | None:
    """Return the type of the result and what computes it; None where there is no such operator."""
    if sign in _ARITHMETIC and left in _NUMBERS and right in _NUMBERS:
        whole, broken = _ARITHMETIC[sign]
        if left == right == INT and whole is not None:
            return INT, whole
        return None if broken is None else (FLOAT, broken)
    if sign == "+" and left == right == STRING:
        return STRING, operator.add
    if sign == "%" and left == STRING:
        return STRING, lambda text, values: formatted(text, _in_a_tuple(values))
    if sign in _LOGICAL and left == right == BOOLEAN:
        return BOOLEAN, _LOGICAL[sign]
    if sign in _EQUALITY and _comparable(left, right, (*_NUMBERS, STRING, BOOLEAN)):
        return BOOLEAN, _EQUALITY[sign]
    if sign in _ORDER and _comparable(left, right, (*_NUMBERS, STRING)):
        return BOOLEAN, _ORDER[sign]
    return None


def unary(sign: str, kind: Kind) -> tuple[Kind, Function] | None:
    """Return the same of an operator before its operand."""
    if sign == "!":
        return (BOOLEAN, operator.not_) if kind == BOOLEAN else None
    if kind not in _NUMBERS:
        return None
    if sign == "+":
        return kind, operator.pos
    return kind, _within_64_bits(operator.neg) if kind == INT else operator.neg


def _comparable(left: Kind, right: Kind, allowed: tuple[Kind, ...]) -> bool:
    same = left == right or (left in _NUMBERS and right in _NUMBERS)
    return same and left in allowed


def _in_a_tuple(values: object) -> tuple[object, ...]:
    return values if isinstance(values, tuple) else (values,)


def fits_in_64_bits(number: int) -> bool:
    """Tell whether C's ``int64_t`` has a whole number."""
    return bool(-(2 ** (_BITS - 1)) <= number < 2 ** (_BITS - 1))


def _in_64_bits(number: int) -> int:
    if not fits_in_64_bits(number):
        raise ArithmeticError(
            f"a whole number of more than {_BITS} bits: got {shown(number)}; allowed: -2**63 to "
            "2**63 - 1. Compute with floats (2.0, not 2)"
        )
    return number


def as_scalar(result: object, kind: object) -> object:
    """Return what a function of the library gave, as a value of that type.

    Raises
    ------
    ArithmeticError
        A whole number of more than 64 bits.
    """
    if kind == FLOAT:
        return float(cast("SupportsFloat", result))
    return _in_64_bits(cast("int", result)) if kind == INT else result


def _within_64_bits(function: Function) -> Function:
    def whole(*operands: int) -> int:
        return _in_64_bits(function(*operands))

    return whole


def quotient(left: float, right: float) -> float:
    """Divide as C does: infinity or NaN by 0."""
    if right == 0:
        return (
            math.nan
            if left == 0 or left != left
            else math.copysign(math.inf, left) * (math.copysign(1, right))
        )
    return left / right


def whole_quotient(left: int, right: int) -> int:
    """Divide whole numbers, towards 0."""
    if right == 0:
        raise ZeroDivisionError(f"{left} is divided by 0; allowed: by any other number")
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def remainder(left: int, right: int) -> int:
    """Return what `whole_quotient` leaves; it has the sign of the dividend."""
    return left - right * whole_quotient(left, right)


def _whole_power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ArithmeticError(
            f"a power of whole numbers: got the exponent {exponent}; allowed: 0 or more. Write the "
            "base as a float (2.0, not 2)"
        )
    if base.bit_length() * exponent > 64 * _BITS:
        raise ArithmeticError(
            f"{base}**{exponent} has more than {_BITS} bits; allowed: with floats"
        )
    return base**exponent


def float_power(base: float, exponent: float) -> float:
    """Return a power as C does."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


_ARITHMETIC: dict[str, tuple[Function | None, Function | None]] = {
    "+": (_within_64_bits(operator.add), operator.add),
    "-": (_within_64_bits(operator.sub), operator.sub),
    "*": (_within_64_bits(operator.mul), operator.mul),
    "/": (None, quotient),
    "%/": (_within_64_bits(whole_quotient), None),
    "%%": (remainder, None),
    "**": (_within_64_bits(_whole_power), float_power),
}
_LOGICAL: dict[str, Function] = {
    "&&": lambda left, right: left and right,
    "||": lambda left, right: left or right,
}
_EQUALITY: dict[str, Function] = {"==": operator.eq, "!=": operator.ne}
_ORDER: dict[str, Function] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
