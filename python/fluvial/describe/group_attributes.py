# SPDX-License-Identifier: Apache-2.0
"""What a step says of the groups that its datasets are in: species, records, all meshes.

A stream has no groups. There the attribute `name` of the group `path` is the attribute
``path@name`` of the step, and the number of the iteration, where it is not that of the step, is
``@iteration``.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._core import InvalidArgument
from ..base.arguments import to_int, to_mapping, to_text
from ..base.messages import shown
from .attributes import Attributes, AttributeValue, plain

_MARK = "@"
_ITERATION = "@iteration"
Groups = Mapping[str, Mapping[str, object]]
"""Attributes by the paths of groups: ``{"particles/e": {"particleShape": 3.0}}``."""


def plain_groups(groups: Groups | None) -> dict[str, dict[str, AttributeValue]]:
    """Return the attributes of groups as the core takes them.

    Raises
    ------
    InvalidArgument, WrongType
        A path that no group can have; an attribute that cannot be used.
    """
    found = {}
    allowed = "a dict of paths to dicts of attributes"
    for path, attrs in to_mapping(groups, "groups", allowed).items():
        if not all(to_text(path, "the path of a group").split("/")) or _MARK in path:
            raise InvalidArgument(
                f"no group can be called that: got {shown(path)}; allowed: words with single "
                "slashes between them and without @, such as 'particles/electrons'"
            )
        found[path] = plain(to_mapping(attrs, f"the attributes of {shown(path)}"))
    return found


def to_iteration(number: object) -> int:
    """Return the number of an iteration, which openPMD counts from 0."""
    return to_int(number, "iteration", 0)


def with_groups(
    attrs: Mapping[str, AttributeValue], groups: Groups | None, iteration: int | None
) -> dict[str, AttributeValue]:
    """Return the attributes of a step in a stream.

    >>> with_groups({"dt": 1.0}, {"meshes/E": {"smooth": True}}, 100)
    {'dt': 1.0, 'meshes/E@smooth': True, '@iteration': 100}
    """
    found = dict(attrs)
    for path, said in plain_groups(groups).items():
        found |= {f"{path}{_MARK}{name}": value for name, value in said.items()}
    if iteration is not None:
        found[_ITERATION] = iteration
    return found


def own_attributes(attrs: Mapping[str, object]) -> Attributes:
    """Return what of the attributes of a step in a stream belongs to the step itself."""
    return Attributes((name, value) for name, value in attrs.items() if _MARK not in name)


def said_of_group(attrs: Mapping[str, object], path: str, *names: str) -> dict[str, object]:
    """Return attributes of a group, by their names, of those of a step in a stream.

    >>> said_of_group({"meshes/E@smooth": True}, "meshes/E", "smooth", "dataOrder")
    {'smooth': True}
    """
    keys = {name: f"{path}{_MARK}{name}" for name in names} if path else {}
    return {name: attrs[key] for name, key in keys.items() if key in attrs}


def groups_of(attrs: Mapping[str, object]) -> dict[str, Attributes]:
    """Return what the attributes of a step in a stream say of groups.

    >>> groups_of({"dt": 1.0, "meshes/E@smooth": True, "@iteration": 100})
    {'meshes/E': {'smooth': True}}
    """
    found: dict[str, Attributes] = {}
    for name, value in attrs.items():
        path, _, rest = name.partition(_MARK)
        if path and rest:
            found.setdefault(path, Attributes())[rest] = value
    return found


def iteration_of(attrs: Mapping[str, object], index: int) -> int:
    """Return the number of the iteration that a step of a stream is; its index unless it says so.

    >>> iteration_of({"@iteration": 100}, 1), iteration_of({}, 1)
    (100, 1)
    """
    said = attrs.get(_ITERATION, index)
    return said if isinstance(said, int) else index
