# SPDX-License-Identifier: Apache-2.0
"""Atomic form factors: how strongly an atom scatters, by the momentum transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import (
    to_array,
    to_float,
    to_int,
    to_numbers,
    to_text,
    unknown_name,
    wrong_type,
)
from .waasmaier_kirfel import SUMS

Factors = list[tuple[int, list[float], list[float], float]]


@dataclass(frozen=True)
class FormFactor:
    """A sum of Gaussians, f(q) = c + Σ_i a_i exp(-b_i (|q| / 4π)²), in electrons.

    Parameters
    ----------
    a, b, c
        Four terms, as Cromer and Mann fitted them, five, as Waasmaier and Kirfel did, or any
        number; b in Å². ``FormFactor((), (), 1)`` is a point.

    Examples
    --------
    >>> import fluvial as fl
    >>> iron = fl.ops.FormFactor.of("Fe")
    >>> round(float(iron(0.0)), 2), round(float(iron(4.0)), 2)
    (25.99, 16.17)
    """

    a: Sequence[float]
    b: Sequence[float]
    c: float = 0.0

    def __post_init__(self) -> None:
        """Take numbers of any sequence.

        Raises
        ------
        WrongType, InvalidArgument
            They are none, or there are not as many b as a.
        """
        a, b = (tuple(to_numbers(given, name)) for given, name in ((self.a, "a"), (self.b, "b")))
        if len(a) != len(b):
            raise InvalidArgument(
                f"a form factor has not as many b as a: got {len(a)} a and {len(b)} b; allowed: as "
                "many of one as of the other"
            )
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "c", to_float(self.c, "c"))

    @classmethod
    def of(cls, element: str) -> Self:
        """Return the form factor of a neutral atom, of a small table: for |q| up to 75 / Å.

        Source: D. Waasmaier and A. Kirfel, Acta Cryst. A51 (1995) 416,
        doi:10.1107/S0108767394013292. Other elements and ions are in the article, and in the
        package periodictable, for example.

        Raises
        ------
        UnknownName
            An element that is not in the table.
        """
        if to_text(element, "an element") not in SUMS:
            raise unknown_name("no form factor of this element is known here", element, SUMS)
        return cls(*SUMS[element])

    def __call__(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return f at |q|, in 1/Å."""
        s2 = (to_array(q, "q").astype(np.float64) / (4 * np.pi)) ** 2
        return self.c + sum(
            (a * np.exp(-b * s2) for a, b in zip(self.a, self.b, strict=True)), np.zeros_like(s2)
        )


def to_factors(given: object, angstrom: float) -> Factors:
    """Return form factors by species as the core takes them.

    Parameters
    ----------
    given
        A dict of numbers of species to elements, `FormFactor` or numbers; None: there are none.
    angstrom
        One ångström in the unit of the positions.
    """
    length = to_float(angstrom, "angstrom")
    if not length > 0 or not np.isfinite(length):
        raise InvalidArgument(
            f"structure factor: angstrom is out of range: got {length}; allowed: one ångström in "
            "the unit of the positions, such as 1e-10 for metres"
        )
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise wrong_type("form_factors", given, "a dict of species to elements or FormFactor")
    if not given:
        raise InvalidArgument(
            "structure factor: form_factors is empty; allowed: one for each species. Leave it out "
            "for point atoms"
        )
    return [_factor(species, factor, length) for species, factor in given.items()]


def _factor(
    species: object, factor: object, length: float
) -> tuple[int, list[float], list[float], float]:
    if isinstance(factor, str):
        factor = FormFactor.of(factor)
    elif isinstance(factor, int | float | np.number) and not isinstance(factor, bool):
        factor = FormFactor((), (), float(factor))
    if not isinstance(factor, FormFactor):
        raise wrong_type("a form factor", factor, "an element, a FormFactor, or one number")
    scaled = [value * length**2 for value in factor.b]
    return to_int(species, "the number of a species"), list(factor.a), scaled, factor.c
