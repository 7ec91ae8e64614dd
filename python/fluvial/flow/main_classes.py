# SPDX-License-Identifier: Apache-2.0
"""Classes of a main program in what an earlier run of it has written.

cloudpickle sends such a class by value, and knows it again only as long as the program runs. To a
later run it would be another class: ``result == State.DONE`` would be False. So it is taken from
the main program that runs now, where that defines one of this name with the same bases.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

from .payload import Unpickler, unpacked


def unpacked_in_main(message: bytearray) -> object:
    """Return the object of a message, with the classes that the main program defines now."""
    if b"__main__" not in message:
        return unpacked(message)
    return unpacked(message, unpickler=_MainUnpickler)


class _MainUnpickler(Unpickler):
    """Stands in for what cloudpickle has written to make a class and to fill it."""

    def find_class(self, module: str, name: str) -> object:
        found = super().find_class(module, name)
        if module.partition(".")[0] != "cloudpickle":
            return found
        if name == "_make_skeleton_class":
            return _class_maker(found)
        if name == "_make_skeleton_enum":
            return _enum_maker(found)
        return _filler(found) if name == "_class_setstate" else found


def _class_maker(make: Callable[..., type]) -> Callable[..., type]:
    def class_of(
        kind: type, name: str, bases: tuple[object, ...], known: dict[str, object], *rest: object
    ) -> type:
        # Journals of earlier builds have the name alone.
        path = str(known.get("__qualname__", name))
        found = _defined(known.get("__module__"), path, kind, bases)
        return found or make(kind, name, bases, known, *rest)

    return class_of


def _enum_maker(make: Callable[..., type]) -> Callable[..., type]:
    def enum_of(
        bases: tuple[object, ...],
        name: str,
        path: str,
        members: dict[str, object],
        module: str,
        *rest: object,
    ) -> type:
        found = _defined(module, path, type(bases[-1]), bases)
        return found or make(bases, name, path, members, module, *rest)

    return enum_of


def _filler(fill: Callable[[type, object], type]) -> Callable[[type, object], type]:
    def filled(made: type, state: object) -> type:
        is_of_main = (
            _defined(made.__module__, made.__qualname__, type(made), made.__bases__) is made
        )
        return made if is_of_main else fill(made, state)

    return filled


def _defined(module: object, path: str, kind: type, bases: tuple[object, ...]) -> type | None:
    """Return the class of this name that the main program has, if it is one of this kind."""
    found: object = sys.modules["__main__"] if module == "__main__" else None
    for name in path.split("."):
        found = getattr(found, name, None)
    if type(found) is not kind or not isinstance(found, type):
        return None
    # What was written after the name is also kept where it was no class, as with NamedTuple.
    same = types.resolve_bases(bases) == found.__bases__
    return found if same or vars(found).get("__orig_bases__") == bases else None
