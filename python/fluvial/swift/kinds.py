# SPDX-License-Identifier: Apache-2.0
"""Types of values in a script."""

from __future__ import annotations

from dataclasses import dataclass

SCALARS = ("int", "float", "string", "boolean", "blob", "file", "void")


@dataclass(frozen=True)
class Kind:
    """A scalar type, or arrays of it: `keys` has the type of each dimension's keys."""

    scalar: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        dimensions = "".join("[]" if key == "int" else f"[{key}]" for key in self.keys)
        return self.scalar + dimensions

    @property
    def is_array(self) -> bool:
        """Whether it has elements."""
        return bool(self.keys)

    @property
    def element(self) -> Kind:
        """The type of an array's elements."""
        return Kind(self.scalar, self.keys[1:])

    def takes(self, other: Kind) -> bool:
        """Tell whether a variable of this type can have a value of the other one.

        >>> FLOAT.takes(INT), INT.takes(FLOAT)
        (True, False)
        """
        if other is EMPTY and self.is_array:
            return True
        return self == other or (self == FLOAT and other == INT)


INT, FLOAT, STRING, BOOLEAN = Kind("int"), Kind("float"), Kind("string"), Kind("boolean")
BLOB, FILE, VOID = Kind("blob"), Kind("file"), Kind("void")
EMPTY = Kind("nothing", ("int",))
"""Of `[]`, which any array can be."""


def array_of(element: Kind, key: str = "int") -> Kind:
    """Return the type of arrays with such elements.

    >>> str(array_of(FLOAT, "string"))
    'float[string]'
    """
    return Kind(element.scalar, (key, *element.keys))
