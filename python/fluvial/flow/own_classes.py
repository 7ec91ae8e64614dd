# SPDX-License-Identifier: Apache-2.0
"""Classes of this process that come back to it by value: they stay as they are.

cloudpickle knows such a class again, and would fill it with what another process, or a task in this
one, has made of its attributes: its methods would use the names of a worker.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

_written: weakref.WeakSet[type] = weakref.WeakSet()
_filled: weakref.WeakSet[type] = weakref.WeakSet()


def reduced_class(made: type, reduced: tuple[object, ...]) -> tuple[object, ...]:
    """Return what is written of a class instead of what cloudpickle says of it."""
    make, arguments, state, _, _, fill = reduced
    _written.add(made)
    return make, arguments, (fill, state), None, None, fill_class


def fill_class(made: type, told: tuple[Callable[[type, object], object], object]) -> None:
    """Do what cloudpickle does with a class that it has made, unless that is this process's own."""
    fill, state = told
    if made not in _written or made in _filled:
        _filled.add(made)
        fill(made, state)
