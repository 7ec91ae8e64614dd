# SPDX-License-Identifier: Apache-2.0
"""Files of n-d data, one or several as one: what `fluvial.open` returns for them."""

from __future__ import annotations

import functools
import glob
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import xarray as xr

from . import _core, positions, scan_work, scanning
from ._core import InvalidArgument, NoSuchFile
from .arguments import to_choice, to_mapping, to_path, to_text, unknown_name, wrong_type
from .attributes import Attributes
from .coordinates import CoordinateVariables, typed
from .file_dataset import FileDataset
from .messages import listed, shown
from .raw_layout import raw_layout
from .scanning import PendingScan, ScanOptions
from .view import View

_PACKING = (
    *("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"),
    *("scale_factor", "add_offset", "_Unsigned"),
)


Path = str | os.PathLike[str]
Raw = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def open_files(
    path: Path | Sequence[Path],
    *,
    comm: Any = None,
    raw: Raw | None = None,
    decode: bool | str = True,
) -> File:
    """Open a file, all that a pattern matches (sorted by name), or a list of them, as one. Local.

    Parameters
    ----------
    path
        Of a file, a pattern, or a list of paths in the order of the joined dimension.
    comm
        Over which reductions run unless they say otherwise; None: MPI.COMM_WORLD in a program of
        several ranks.
    raw
        The layout of a raw binary file: dtype (NumPy's, with its byte order), shape, and where
        wanted name, dims, offset (bytes), attrs; a list of these for several datasets.
    decode
        Attributes mean what the CF conventions say (missing values, packing, valid ranges);
        "xarray": but for valid ranges, which xarray does not know.

    Raises
    ------
    InvalidArgument
        A format that is none of ours, or an argument that cannot be used.
    NoSuchFile
        No such file. It is a FileNotFoundError and a SystemError.
    DamagedFile, SystemError
        It cannot be read.
    """
    several = isinstance(path, Sequence) and not isinstance(path, str | os.PathLike)
    given: Sequence[Any] = path if several else [path]  # type: ignore[assignment]
    to_choice(decode, "decode", (True, False, "xarray"))
    paths: list[str] = []
    for name in [to_path(p, "the path of a file") for p in given]:
        if not os.path.exists(name) and glob.has_magic(name):
            paths += sorted(glob.glob(name))
        else:
            paths.append(name)
    if not paths:
        raise NoSuchFile(
            f"no such files: got {shown(path)}; allowed: files that exist. Check the pattern and "
            f"the working directory, {os.getcwd()}."
        )
    if raw is None:
        return File([_core.open_file(one) for one in paths], comm=comm, decode=decode)
    layouts = [raw_layout(r) for r in (raw if isinstance(raw, list | tuple) else [raw])]
    return File([_core.open_raw(one, layouts) for one in paths], comm=comm, decode=decode)


class File(Mapping[str, FileDataset]):
    """A file, or several of one kind joined along their first axis; a mapping of its datasets.

    The joined dimension is the unlimited one, or where there is none the first of the dataset with
    the most dimensions. Datasets that do not begin with it come from the first file.
    """

    def __init__(
        self, parts: Sequence[_core.File], *, comm: Any = None, decode: bool | str = True
    ) -> None:
        self.comm = comm
        self._parts = list(parts)
        self._decode = decode
        self._names = self._parts[0].names
        self._datasets: dict[str, list[_core.FileDataset]] = {}
        self._warned: set[str] = set()
        self._variables = CoordinateVariables(
            self.parts_of, self._everywhere, self._names, bool(decode)
        )

    @property
    def path(self) -> str:
        """Of the (first) file."""
        return self._open()[0].path

    @property
    def paths(self) -> list[str]:
        """Of all files."""
        return [part.path for part in self._parts]

    @property
    def format(self) -> str:
        """Of the (first) file, e.g. "netCDF classic (CDF-5)", "netCDF-4"."""
        return self._open()[0].format

    @property
    def names(self) -> list[str]:
        """Names of the datasets, those among them that cannot be opened."""
        return list(self._names)

    @property
    def unreadable(self) -> dict[str, str]:
        """Why datasets cannot be opened, by name: what is damaged. Using them raises this, too."""
        return {
            name: why for part in reversed(self._open()) for name, why in part.unreadable.items()
        }

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the (first) file."""
        return Attributes(self._open()[0].attributes)

    @property
    def dims(self) -> dict[str, int]:
        """Lengths of the dimensions; of the joined one, over all files."""
        joined = self._joined
        return {
            name: sum(self._lengths(name)) if name == joined else length
            for name, length, _ in self._open()[0].dimensions
        }

    def __getitem__(self, name: str) -> FileDataset:
        to_text(name, "the name of a dataset")
        return FileDataset(
            self, name, View.whole(self.dims_of(name), self.shape_of(name), self._decode)
        )

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def reduce(
        self,
        op: Any,
        inputs: str | Sequence[str] | Mapping[str, str | Sequence[str]],
        over: Any = None,
        *,
        sel: Mapping[Any, Any] | None = None,
        isel: Mapping[Any, Any] | None = None,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Any = None,
        where: Any = None,
        **options: Unpack[ScanOptions],
    ) -> Any:
        """Reduce several datasets of equal shape with several operators, in one pass. Collective.

        Parameters are those of `FileDataset.reduce`, and:

        Parameters
        ----------
        inputs
            Names of datasets: one, or as many as the operator has inputs, for all operators; or a
            dict of them by operator name.
        sel, isel
            Selections by coordinate and by position, as for a dataset's methods.

        Examples
        --------
        >>> f.reduce({"speed": fl.ops.Apply(np.hypot, "max")}, ["u10", "v10"], over="time")
        ... # doctest: +SKIP
        """
        return self.start(
            *(op, inputs, over),
            sel=sel,
            isel=isel,
            skipna=skipna,
            min_count=min_count,
            weights=weights,
            where=where,
            **options,
        ).wait()

    def start(
        self,
        op: Any,
        inputs: str | Sequence[str] | Mapping[str, str | Sequence[str]],
        over: Any = None,
        *,
        sel: Mapping[Any, Any] | None = None,
        isel: Mapping[Any, Any] | None = None,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Any = None,
        where: Any = None,
        **options: Unpack[ScanOptions],
    ) -> PendingScan:
        """Start a reduction of several datasets and return at once, as `reduce`. Collective."""

        def prepare() -> scan_work.Work:
            wanted = None
            if isinstance(inputs, Mapping):
                wanted = {key: _listed(names) for key, names in inputs.items()}
                if not isinstance(op, Mapping) or set(op) != set(wanted):
                    keys = listed(op) if isinstance(op, Mapping) else shown(op)
                    raise InvalidArgument(
                        f"inputs and operators do not fit: got {listed(wanted)}; "
                        f"allowed: a name for each operator, {keys}"
                    )
            names = (
                _listed(inputs)
                if wanted is None
                else list(dict.fromkeys(n for names in wanted.values() for n in names))
            )
            if not names:
                raise InvalidArgument("no dataset: got an empty list; allowed: one or more names")
            first = self[names[0]].isel(to_mapping(isel, "isel")).sel(to_mapping(sel, "sel"))
            chosen = first._selected(None, weights, where)
            name = names[0] if len(names) == 1 else None
            return scan_work.describe(
                self, chosen._view, names, op, wanted, over, skipna, min_count, name
            )

        return scanning.begin(prepare, {"comm": self.comm, **options})

    def find(self, name: str, dataset: str) -> str:
        """Return the dataset that a condition on `dataset` calls `name`; "value" is itself."""
        group = dataset.rpartition("/")[0]
        for path in (name, f"{group}/{name}"):
            if path in self._names:
                return path
        if name in ("value", dataset.rpartition("/")[2]):
            return dataset
        raise unknown_name("no such dataset in the condition", name, ["value", *self._names])

    def parts_of(self, name: str) -> list[_core.FileDataset]:
        """Return the dataset of the first file, or of each file where they are joined. Local."""
        known = self._datasets  # another thread may close the file meanwhile
        if name not in known:
            parts = self._open()
            dims = parts[0].dataset(name).dimensions
            joined = len(parts) > 1 and bool(dims) and dims[0] == self._joined
            known[name] = [part.dataset(name) for part in (parts if joined else parts[:1])]
        return known[name]

    def dims_of(self, name: str) -> list[str]:
        """Return the dimensions of a dataset: the file's names, or openPMD's axisLabels."""
        first = self.parts_of(name)[0]
        labels = first.attributes.get("axisLabels")
        if (
            isinstance(labels, list)
            and len(labels) == len(first.shape)
            and not any(first.dimensions)
        ):
            return [str(label) for label in labels]
        return first.dimensions

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a dataset over all files."""
        parts = self.parts_of(name)
        shape = parts[0].shape
        return (sum(part.shape[0] for part in parts), *shape[1:]) if len(parts) > 1 else shape

    def attributes_of(self, name: str) -> dict[str, Any]:
        """Return the attributes of a dataset in the first file."""
        first = self.parts_of(name)[0]
        return typed(first.attributes, np.dtype(first.dtype))

    def labels(self, dataset: str, name: str) -> xr.Variable | None:
        """Return a coordinate of a dataset, along a whole axis; None when there is none."""
        found = self._variables.of_dim(dataset, name)
        return found if found is not None else self._variables.named(dataset, name)

    def coords_of(
        self, dataset: str, view: View, unseen: Sequence[str] = ()
    ) -> dict[str, xr.Variable]:
        """Return the coordinates of what is selected; axes selected away have scalar ones.

        Those along the dimensions `unseen` are neither read nor returned.
        """
        found = self._variables.auxiliary(dataset, self.attributes_of(dataset), unseen)
        for dim in (d for d in view.dims if d not in unseen):
            if (variable := self._variables.of_dim(dataset, dim)) is not None:
                found[dim] = variable
        out = {}
        for name, variable in found.items():
            if not variable.dims:
                out[name] = variable
            elif variable.dims[0] in view.dims:
                at = view.at(str(variable.dims[0]))
                out[name] = variable[at if isinstance(at, int) else positions.as_array(at)]
        return out

    def decoding(self, name: str, decode: bool | str) -> _core.Decoding:
        """Return a new decoding of a dataset, as its attributes say; warns once of useless ones."""
        if not decode:
            return _core.Decoding()
        parts = self.parts_of(name)
        decoding, found = _core.cf_decoding(parts[0])
        if name not in self._warned:
            self._warned.add(name)
            for text in found:
                warnings.warn(text, UserWarning, stacklevel=5)
            _check_alike(name, parts)
        if decode == "xarray":
            decoding.forget_valid_range()
        return decoding

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        self._parts = []
        self._datasets = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._parts:
            return "<fluvial.File, closed>"
        more = f" and {len(self._parts) - 1} more" if len(self._parts) > 1 else ""
        broken = self.unreadable
        names = [f"{name} (cannot be opened)" if name in broken else name for name in self._names]
        return f"<fluvial.File {self.path!r}{more}, {self.format}: {', '.join(names)}>"

    def _open(self) -> list[_core.File]:
        if parts := self._parts:
            return parts
        raise InvalidArgument("the file is closed; use it inside its `with` block")

    def _everywhere(self, name: str) -> list[_core.FileDataset]:
        return [part.dataset(name) for part in self._open()]

    @functools.cached_property
    def _joined(self) -> str | None:
        """The dimension along which several files are one."""
        first, *others = self._open()
        if not others:
            return None
        unlimited = [name for name, _, is_unlimited in first.dimensions if is_unlimited]
        sound = [first.dataset(n) for n in self._names if n not in first.unreadable]
        dims = max(sound, key=lambda d: len(d.shape)).dimensions if sound else []
        return next((d for d in dims[:1] if d in unlimited), None) or (
            unlimited[0] if unlimited else dims[0] if dims else None
        )

    def _lengths(self, dim: str) -> list[int]:
        return [dict((n, length) for n, length, _ in p.dimensions)[dim] for p in self._open()]


def _listed(inputs: Any) -> list[str]:
    names = [inputs] if isinstance(inputs, str) else inputs
    if not isinstance(names, list | tuple):
        remedy = "The operator comes first: reduce('mean', 'temperature')."
        raise wrong_type("the input", inputs, "the name of a dataset, or a list of names", remedy)
    return [to_text(name, "the name of a dataset") for name in names]


def _check_alike(name: str, parts: Sequence[_core.FileDataset]) -> None:
    """Refuse files that pack one dataset in different ways."""
    first = parts[0].attributes
    for part in parts[1:]:
        mine = part.attributes
        for key in _PACKING:
            said, expected = mine.get(key, np.nan), first.get(key, np.nan)
            both_nan = said != said and expected != expected  # NaN is missing, said or not
            if said != expected and not both_nan:
                raise InvalidArgument(
                    f"the files store '{name}' differently: got {key} = {mine.get(key)!r} in "
                    f"{part.path!r}; allowed: {first.get(key)!r} as in {parts[0].path!r}. "
                    "Reduce each file by itself and merge the results."
                )
