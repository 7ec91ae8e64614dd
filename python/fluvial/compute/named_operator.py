# SPDX-License-Identifier: Apache-2.0
"""Operators of the registry with their options, by which they are pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from .._core import Builtin
from ..base.arguments import to_bool

PerPosition: TypeAlias = np.ndarray | np.number
"""A NumPy scalar, which has the methods of an array, or an array of the kept axes' shape."""


class NamedOperator(Builtin):
    """An operator of the registry; it can be pickled and copied, as it is its name and options."""

    def __init__(self, name: str, options: Mapping[str, object]) -> None:
        super().__init__(name, dict(options))
        self._made_of = name, dict(options)

    @property
    def skipna(self) -> bool:
        """Whether NaN is passed over."""
        return bool(self._made_of[1].get("skipna", True))

    def with_skipna(self, skipna: bool) -> NamedOperator:
        """Return the same operator that passes over NaN, or lets it propagate."""
        name, options = self._made_of
        state = {key: value for key, value in self.__dict__.items() if key != "_made_of"}
        return _made_again(
            type(self), (name, {**options, "skipna": to_bool(skipna, "skipna")}), state
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (type(self), self._made_of, self.__dict__)


def _made_again(
    kind: type[NamedOperator],
    made_of: tuple[str, Mapping[str, object]],
    state: Mapping[str, object],
) -> NamedOperator:
    operator = kind.__new__(kind)
    NamedOperator.__init__(operator, *made_of)
    operator.__dict__.update(state)
    return operator
