# SPDX-License-Identifier: Apache-2.0
"""Whether a file that has appeared joins the one before it, of which steps were given already."""

from __future__ import annotations

from .. import _core
from .._core import InvalidArgument
from ..base.messages import listed
from .joined_dimension import joined_dimension
from .joined_files import UNNAMED, JoinedFiles
from .record_axis import record_dimension


def steps_dimension(files: JoinedFiles) -> str:
    """Return the dimension of the steps of a file that others are to join; maybe UNNAMED. Local.

    Raises
    ------
    InvalidArgument
        Files like this one are not joined.
    """
    if files.has_iterations:
        raise InvalidArgument(
            f"files of openPMD or BP are not joined: got {files.path!r}; allowed: one, or a file "
            "for each step by its number, as in 'data%T.h5'"
        )
    dim = joined_dimension(files.first)
    if dim is not None and dim in (name for name, _, _ in files.dimensions):
        return dim
    if record_dimension(files) == UNNAMED:
        return UNNAMED
    raise InvalidArgument(
        f"'{files.path}' has no dimension along which files are joined: got datasets "
        f"{listed(files.names)}; allowed: datasets with an axis of records. Name one file, or a "
        "file for each step, as in 'data%T.h5'"
    )


def check_joins(before: JoinedFiles, new: JoinedFiles, dim: str) -> None:
    """Refuse a file that does not join the one before it along this dimension. Local.

    It reads the coordinates of both, and warns where the new one does not begin behind the other.

    Raises
    ------
    InvalidArgument
        It has other datasets, axes, lengths or dtypes, packs them otherwise, or its coordinates
        do not fit; it is named.
    """
    if set(new.names) != set(before.names):
        raise _no_fit(new, f"got datasets {listed(new.names)}", listed(before.names), before)
    sound = [name for name in new.names if name not in {**before.unreadable, **new.unreadable}]
    for name in sound:
        got, allowed = (_said(files, name, dim) for files in (new, before))
        if got != allowed:
            raise _no_fit(new, f"got {got} of '{name}'", allowed, before)
    together = before.joined_with(new)
    try:
        for name in sound:
            if not (_counts_dates(before, name) and _counts_dates(new, name)):
                together.decoding(name, together.decode)
            together.coordinates(name, [own for own in together.dims_of(name) if own])
    except _core.Error as error:
        raise type(error)(
            f"'{new.path}' does not join the files before it, whose steps were given: {error}"
        ) from error


def _said(files: JoinedFiles, name: str, dim: str) -> str:
    """Return what a dataset must have in all files, in words."""
    dataset = files.parts_of(name)[0]
    along = files.axis_of(name, dim)
    lengths = ["any" if axis == along else str(length) for axis, length in enumerate(dataset.shape)]
    axes = [f"{own or 'an axis'}: {n}" for own, n in zip(files.dims_of(name), lengths, strict=True)]
    is_label = name.rpartition("/")[2] in dataset.dimensions  # of any dtype: it is decoded
    return f"({', '.join(axes)})" + ("" if is_label else f" {dataset.dtype}")


def _counts_dates(files: JoinedFiles, name: str) -> bool:
    """Tell whether a dataset has units like "days since 2000-01-01": each file may have others."""
    return " since " in str(files.attributes_of(name).get("units", ""))


def _no_fit(new: JoinedFiles, got: str, allowed: str, before: JoinedFiles) -> InvalidArgument:
    return InvalidArgument(
        f"'{new.path}' does not join the files before it, whose steps were given: {got}; allowed: "
        f"{allowed}, as in '{before.path}'. Follow files of one kind by a narrower pattern"
    )
