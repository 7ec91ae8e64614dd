# SPDX-License-Identifier: Apache-2.0
"""What a call of `fluvial.open` means, by its arguments and what is said elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from .base.arguments import to_choice, to_path
from .base.job_options import job_options
from .base.messages import shown, without_addresses
from .describe.engines import (
    FILE_OPTIONS,
    READ_OPTIONS,
    WRITE_OPTIONS,
    Options,
    engine_said,
    means_files,
    refuse_taken_name_of_stream,
)
from .stage.open_series import OPTIONS_OF_READERS, OPTIONS_OF_WRITERS

Said = str | os.PathLike[str] | Mapping[str, object]
_PATHS = (str, bytes, os.PathLike)


class Choice(NamedTuple):
    """What a call of `open` means, beside its arguments."""

    mode: str
    files: bool
    engine: str | None
    """None: the one that fits."""
    engine_of: str
    """What says the engine, for messages, where the call does not: " (of FLUVIAL_ENGINE)"."""
    name: object
    said: Options
    """Options that a file of them says."""
    options: Options
    """Those and the call's."""

    def __str__(self) -> str:
        what = "files" if self.files else "a stream"
        path = f" at {shown(self.name)}" if "path" in self.said else ""
        said = ", ".join(f"{key}={value!r}" for key, value in sorted(self.said.items()))
        return f"{what}, engine {self.engine}{path}" + (f", with {said}" if said else "")

    def told(self) -> str:
        """Return in words what all ranks must mean; what writes compares its other options itself.

        Without folders: nodes may have a file system in different places.
        """
        what = f"{self}, mode {self.mode!r}"
        if not self.files:
            return what
        paths = self.name if isinstance(self.name, list | tuple) else [self.name]
        names = ", ".join(file_name(p) if isinstance(p, _PATHS) else repr(p) for p in paths)
        read = sorted(FILE_OPTIONS & self.options.keys())
        given = "".join(f", {key}={self.options[key]!r}" for key in read)
        return without_addresses(f"{what}{given}: {names}")


def file_name(path: str | bytes | os.PathLike[str]) -> str:
    """Return the last part of a path."""
    return os.path.basename(os.path.normpath(os.fsdecode(path)))


def choose(
    name: object, mode: str, engine: str | None, options: Said | None, given: Options
) -> Choice:
    """Return what a call means, by itself and what is said elsewhere. Local."""
    to_choice(mode, "mode", ("w", "r"))
    said: Options = {}
    where = "options"
    if options is None:
        options, where = os.environ.get("FLUVIAL_OPTIONS") or None, "FLUVIAL_OPTIONS"
    if options is not None:
        called = os.fspath(name) if isinstance(name, str | os.PathLike) else None
        said = job_options(options, where, called, _OPTIONS)
    engine_of = ""
    if engine is None and "engine" in said:
        engine_of = f" (of {where})"
        chosen = engine_said(said["engine"], f"engine of {where}")
    else:
        chosen = engine_said(engine)
        engine_of = " (of FLUVIAL_ENGINE)" if engine is None else ""
    name = to_path(said["path"], f"path of {where}") if "path" in said else name
    files = chosen != "stage" and (chosen is not None or means_files(name, mode, given))
    if mode == "w" and not files and chosen is None:
        refuse_taken_name_of_stream(name)
    theirs = OPTIONS_OF[mode == "w", files]
    merged = {key: value for key, value in said.items() if key in theirs} | given
    return Choice(mode, files, chosen, engine_of, name, said, merged)


OPTIONS_OF: dict[tuple[bool, bool], set[str]] = {
    (True, True): OPTIONS_OF_WRITERS | WRITE_OPTIONS,
    (True, False): OPTIONS_OF_WRITERS,
    (False, True): FILE_OPTIONS | OPTIONS_OF_READERS | READ_OPTIONS,
    (False, False): OPTIONS_OF_READERS | READ_OPTIONS,
}
"""Options that there are, for writers or readers, of files or streams."""
_OPTIONS = {"engine", "path"}.union(*OPTIONS_OF.values())
