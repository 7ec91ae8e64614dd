# SPDX-License-Identifier: Apache-2.0
"""Calls of an object by what it owns, which must not keep it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def weakly(method: Callable[[str], Found]) -> Callable[[str], Found]:
    """Return a function that calls a method of an object, but does not keep the object."""
    known = weakref.WeakMethod(method)

    def call(name: str) -> Found:
        found = known()
        assert found is not None  # only it calls
        return found(name)

    return call
