# SPDX-License-Identifier: Apache-2.0
"""The datasets of a step in openPMD's words: meshes, species of particles, records, components.

They say by their names what they are: "meshes/E/x" is the component x of the mesh E, and
"particles/e/position/x" that of a record of the species e. A record of one component is a dataset
itself: "meshes/rho". Source: the openPMD standard 1.1, sections "Mesh Based Records" and "Particle
Records".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

from ..base.arguments import to_float, unknown_name
from .attributes import Attributes


class _WithGroups(Protocol):
    @property
    def groups(self) -> Mapping[str, Attributes]:
        """Attributes of what datasets are in, by path."""


class Record(Mapping[str, Any]):
    """A physical quantity of several components, which are its items and its attributes: E.x.

    Examples
    --------
    >>> step.meshes["E"].x.mean(), step.meshes["E"].attrs["unitDimension"]  # doctest: +SKIP
    """

    def __init__(self, step: Mapping[str, object], path: str, components: list[str]) -> None:
        self.path = path
        """In its step: "meshes/E"."""
        self._step = step
        self._components = components

    @property
    def attrs(self) -> Attributes:
        """What all components say alike: unitDimension, timeOffset, and of meshes the grid."""
        first, *others = [component.attrs for component in self.values()]
        return Attributes(
            (name, value)
            for name, value in first.items()
            if all(name in said and said[name] == value for said in others)
        )

    def __getitem__(self, name: str) -> Any:
        if name in self._components:
            return self._step[f"{self.path}/{name}"]
        raise unknown_name(f"'{self.path}' has no such component", name, self._components)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_components", ()):  # a copy has none at first
            return self[name]
        path = self.__dict__.get("path", "a record")
        raise AttributeError(f"'{path}' has no component or attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def _ipython_key_completions_(self) -> list[str]:
        return self._components

    def __repr__(self) -> str:
        return f"<fluvial.Record '{self.path}' of {', '.join(self)}>"


class Records(Mapping[str, Any]):
    """The records under one path of a step: a dataset of each with one component, else a `Record`.

    Examples
    --------
    >>> step.meshes["rho"].sum(), step.meshes["E"]["x"].max()             # doctest: +SKIP
    """

    _what = "record"

    def __init__(self, step: Mapping[str, object], path: str, without: str = "") -> None:
        self.path = path
        """In the step, with a slash at its end: "meshes/"; "" for all of it but `without`."""
        self._step = step
        self._inside: dict[str, list[str]] = {}
        for name in step:
            if name.startswith(path) and not (without and name.startswith(without)):
                first, _, rest = name[len(path) :].partition("/")
                self._inside.setdefault(first, []).append(rest)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the species, or of all meshes, as `step.groups` has them."""
        return Attributes(cast(_WithGroups, self._step).groups.get(self.path.rstrip("/"), {}))

    def __getitem__(self, name: str) -> Any:
        if name not in self._inside:
            raise unknown_name(f"no such {self._what} in '{self.path}'", name, list(self._inside))
        return self._made(f"{self.path}{name}", self._inside[name])

    def _made(self, path: str, names: list[str]) -> object:
        if names == [""]:
            return self._step[path]
        return Record(self._step, path, [name for name in names if name])

    def __contains__(self, name: object) -> bool:
        return name in self._inside

    def __iter__(self) -> Iterator[str]:
        return iter(self._inside)

    def __len__(self) -> int:
        return len(self._inside)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<fluvial.{type(self).__name__} '{self.path}': {', '.join(self)}>"


class Particles(Records):
    """The species of particles of a step, each with its records.

    Examples
    --------
    >>> step.particles["electrons"]["position"].x                         # doctest: +SKIP
    """

    _what = "species"

    def __getitem__(self, name: str) -> Records:
        return cast(Records, super().__getitem__(name))

    def _made(self, path: str, names: list[str]) -> Records:
        return Records(self._step, f"{path}/")


def meshes_of(step: Mapping[str, object], attributes: Mapping[str, object]) -> Records:
    """Return the meshes of a step; `attributes` are those of its series."""
    path, other = _paths(attributes)
    return Records(step, path, other if not path else "")


def particles_of(step: Mapping[str, object], attributes: Mapping[str, object]) -> Particles:
    """Return the particle species of a step; `attributes` are those of its series."""
    other, path = _paths(attributes)
    return Particles(step, path, other if not path else "")


def _paths(attributes: Mapping[str, object]) -> tuple[str, str]:
    """Return where meshes and particles are; "" where that is the iteration itself."""
    found = []
    for name, otherwise in (("meshesPath", "meshes/"), ("particlesPath", "particles/")):
        said = attributes.get(name, otherwise)
        path = (said if isinstance(said, str) else otherwise).strip("/")
        found.append(f"{path}/" if path else "")
    return found[0], found[1]


def is_record(group: str, attributes: Mapping[str, object]) -> bool:
    """Tell whether what a group has are components of one record, none the coordinate of another.

    By the attributes of a mesh that the group has, or by its path in a step.

    >>> is_record("meshes/E", {}), is_record("data/0/fields/E", {"gridSpacing": [0.5]})
    (True, True)
    >>> is_record("meshes", {}), is_record("fields", {"axisLabels": ["lat", "lon"]})
    (False, False)
    """
    first, _, name = group.partition("/")
    return (first == "meshes" and bool(name) and "/" not in name) or "gridSpacing" in attributes


def unit_of(attributes: Mapping[str, object], name: str) -> float:
    """Return what turns stored values into SI units: the attribute unitSI; 1 where there is none.

    Raises
    ------
    InvalidArgument
        It is no number.
    """
    return to_float(attributes.get("unitSI", 1.0), f"unitSI of '{name}'")
