# SPDX-License-Identifier: Apache-2.0
"""Where openPMD 1.1 puts what a series says, and what it asks for beside that."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, SupportsFloat, SupportsInt, cast

import numpy as np

from .._core import InvalidArgument
from ..base.messages import shown
from .attribute_texts import check_attributes, check_text
from .step_contents import Extent

OF_RECORD = (
    *("unitDimension", "timeOffset", "geometry", "geometryParameters", "dataOrder"),
    *("axisLabels", "gridSpacing", "gridGlobalOffset", "gridUnitSI"),
)
"""Attributes that all components of a record share, and that hang on the record."""

_OF_MESH = {
    "geometry": "cartesian",
    "dataOrder": "C",
    "gridUnitSI": 1.0,
}
_FLOATS = {"unitDimension", "gridSpacing", "gridGlobalOffset", "position"}
_FLOAT = {"timeOffset", "gridUnitSI", "unitSI", "time", "dt", "timeUnitSI"}


class StepLayout(NamedTuple):
    """The objects of an iteration by their paths in it, and their attributes."""

    groups: dict[str, dict[str, object]]
    """Records and species; "" is the iteration itself."""
    datasets: dict[str, Extent]
    constants: dict[str, Extent]
    """Components with one value everywhere: the attribute `value`."""

    def check_attributes(self, bytes_max: int | None = None, *, slashes: bool = True) -> None:
        """Look at all attributes, as `store.attribute_texts` has it.

        Raises
        ------
        InvalidArgument
            One has a NUL in it, has no name, takes more than `bytes_max` bytes, or has one of the
            `slashes` that are not allowed in its name.
        """
        for path, attrs in self.groups.items():
            check_text(path, "the name of a group")
            what = f"'{path}'" if path else "the step"
            check_attributes(attrs, what, bytes_max, slashes=slashes)
        for path, extent in {**self.datasets, **self.constants}.items():
            check_attributes(extent.attrs, f"'{path}'", bytes_max, slashes=slashes)


def series_attributes(
    said: Mapping[str, object], pattern: str | None, version: str
) -> dict[str, object]:
    """Return the attributes of a file's root: what was said, and what openPMD asks for.

    `pattern` is that of the names of files of one iteration each; None: all are in one file.
    """
    encoding = "groupBased" if pattern is None else "fileBased"
    needed: dict[str, str | np.uint32] = {
        "openPMD": "1.1.0",
        "openPMDextension": np.uint32(0),
        "basePath": "/data/%T/",
        "meshesPath": "meshes/",
        "particlesPath": "particles/",
        "iterationEncoding": encoding,
        "iterationFormat": "/data/%T/" if pattern is None else pattern,
        "software": "Fluvial",
        "softwareVersion": version,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S +0000"),
    }
    attrs = needed | dict(said)
    attrs["openPMDextension"] = np.uint32(int(cast(SupportsInt, attrs["openPMDextension"])))
    for fixed in ("basePath", "iterationEncoding", "iterationFormat"):
        attrs[fixed] = needed[fixed]
    for name in ("meshesPath", "particlesPath"):
        attrs[name] = f"{str(attrs[name]).strip('/')}/"
    return attrs


def step_layout(
    step: Mapping[str, object],
    datasets: Mapping[str, Extent],
    series: Mapping[str, object],
    said: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    varying: Collection[str] = (),
) -> StepLayout:
    """Return what an iteration consists of.

    Parameters
    ----------
    step
        Attributes of the step.
    datasets
        By their names in the step: "meshes/E/x".
    series
        The attributes that `series_attributes` returned.
    said
        Attributes of groups by path: of species, of records, of all meshes.
    varying
        Datasets whose elements are not all what their attribute `value` says.

    Raises
    ------
    InvalidArgument
        Components of one record differ in what belongs to the record, or a name is that of a
        dataset and of a group.
    """
    of_step = {"time": 0.0, "dt": 1.0, "timeUnitSI": 1.0} | dict(step)
    groups: dict[str, dict[str, object]] = {"": _typed(of_step)}
    given: dict[str, dict[str, object]] = {}
    layout = StepLayout(groups, {}, {})
    for name, extent in datasets.items():
        _check_name(name, datasets)
        mesh, particles = (
            name.startswith(str(series[path])) for path in ("meshesPath", "particlesPath")
        )
        # A record of one component is a dataset, which has what was said of the record.
        of_its = {k: v for k, v in said.get(name, {}).items() if k not in ("value", "shape")}
        attrs = of_its | dict(extent.attrs)
        if mesh or particles:
            path = str(series["meshesPath" if mesh else "particlesPath"])
            record = _record_of(name, path, not mesh)
            of_its = dict(said.get(record, {})) if record != name else {}
            attrs = {k: v for k, v in attrs.items() if k in OF_RECORD or of_its.get(k) != v}
            if "particlePatches" not in record or record != name:
                attrs.setdefault("unitSI", 1.0)
            defaults = _record_defaults(extent.shape) if mesh else {}
            defaults |= {"unitDimension": np.zeros(7)}
            defaults |= {} if "particlePatches" in record else {"timeOffset": 0.0}
            of_record = {**of_its, **{key: attrs.pop(key) for key in OF_RECORD if key in attrs}}
            if mesh:
                attrs.setdefault("position", np.zeros(max(len(extent.shape), 1)))
            if record == name:
                attrs |= defaults | of_record
            else:  # any of the components may say it
                _merge(given.setdefault(record, {}), _typed(of_record), record)
                groups[record] = _typed(defaults) | given[record]
        constant = (
            (mesh or particles) and name not in varying and {"value", "shape"} <= attrs.keys()
        )
        place = layout.constants if constant and extent.shape else layout.datasets
        place[name] = extent._replace(attrs=_typed(attrs))
    for path in (str(series[key]).strip("/") for key in ("meshesPath", "particlesPath")):
        if path and path not in datasets:  # openPMD's validator looks for what the root names
            groups.setdefault(path, _typed(said.get(path, {})))
    for path, of_group in said.items():
        if path not in datasets:
            groups.setdefault(path, _typed(of_group))
    _add_position_offsets(layout, str(series["particlesPath"]))
    return layout


def _record_of(name: str, path: str, particles: bool) -> str:
    """Return the path of the record of a component; `path` is that of all meshes or particles.

    >>> _record_of("fields/em/E/x", "fields/em/", False)
    'fields/em/E'
    >>> _record_of("particles/e/particlePatches/offset/x", "particles/", True)
    'particles/e/particlePatches/offset'
    """
    parts = name[len(path) :].split("/")
    below_species = 3 if parts[1:2] == ["particlePatches"] else 2
    return path + "/".join(parts[: below_species if particles else 1])


def _record_defaults(shape: tuple[int, ...]) -> dict[str, object]:
    ndim = max(len(shape), 1)
    labels = ["x", "y", "z"][:ndim][::-1] if ndim <= 3 else [f"dim_{axis}" for axis in range(ndim)]
    grid = {"gridSpacing": np.ones(ndim), "gridGlobalOffset": np.zeros(ndim)}
    return {**_OF_MESH, **grid, "axisLabels": labels}


def _merge(known: dict[str, object], said: Mapping[str, object], record: str) -> None:
    for name, value in said.items():
        if name in known and not np.array_equal(np.asarray(known[name]), np.asarray(value)):
            raise InvalidArgument(
                f"components of '{record}' differ in {name}: got {shown(value)}; allowed: "
                f"{shown(known[name])}, as of the first one. It belongs to the record"
            )
        known[name] = value


def _check_name(name: str, names: Mapping[str, object]) -> None:
    parts = name.split("/")
    check_text(name, "the name of a dataset")
    if not all(parts) or "." in parts:
        raise InvalidArgument(
            f"a dataset of a file cannot be called that: got {shown(name)}; allowed: words with "
            "single slashes between them, such as 'meshes/E/x'"
        )
    for end in range(1, len(parts)):
        if (above := "/".join(parts[:end])) in names:
            raise InvalidArgument(
                f"a name is that of a dataset and of a group: got {shown(name)}; allowed: none "
                f"below the dataset {shown(above)}. Call one of them something else"
            )


def _add_position_offsets(layout: StepLayout, path: str) -> None:
    """Particles of openPMD have a positionOffset, which is mostly zero and then takes no room."""
    known = {**layout.datasets, **layout.constants}
    for name, extent in known.items():
        species, record, component = [*name[len(path) :].split("/"), "", ""][:3]
        offset = f"{path}{species}/positionOffset"
        if not (name.startswith(path) and record == "position" and component):
            continue
        if any(n.startswith(f"{offset}/") for n in known):
            continue
        layout.groups.setdefault(offset, dict(layout.groups[f"{path}{species}/position"]))
        attrs = {"unitSI": extent.attrs["unitSI"]}
        layout.constants[f"{offset}/{component}"] = Extent("float64", extent.shape, attrs)


def _typed(attrs: Mapping[str, object]) -> dict[str, object]:
    """Return attributes as openPMD wants their types: units and grids in float64."""
    out = dict(attrs)
    for name, value in attrs.items():
        if name in _FLOATS:
            out[name] = np.atleast_1d(np.asarray(value, np.float64))
        elif name in _FLOAT:
            out[name] = np.float64(cast(SupportsFloat, value))
        elif name == "axisLabels" and isinstance(value, str):
            out[name] = [value]
        elif name == "macroWeighted":
            out[name] = np.uint32(cast(SupportsInt, value))
    return out
