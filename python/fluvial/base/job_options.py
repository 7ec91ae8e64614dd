# SPDX-License-Identifier: Apache-2.0
"""Options of series that a job script says: in a file of TOML or JSON, or in text of either.

Those of all series come first; a table [series.NAME] has those of the series that the program calls
NAME, and `path` in it is what is opened in its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import NoReturn

from .._core import InvalidArgument, NoSuchFile, UnknownName
from .arguments import said_by, to_path, to_text, wrong_type
from .messages import did_you_mean, listed, shown, shown_text

_TABLE = "series"
_ALLOWED = "a path, text of TOML or JSON, or a dict"


def job_options(
    said: object, what: str, name: str | None, known: Iterable[str]
) -> dict[str, object]:
    """Return the options that hold for one series: those of all, and over them its own. Local.

    Parameters
    ----------
    said
        A path, text of TOML or JSON, or a dict. Text has a "=" in it, or begins with "{".
    what
        Where it was said: "options", "FLUVIAL_OPTIONS".
    name
        Of the series, as the program calls it; None: it has none.
    known
        The options that there are.

    Raises
    ------
    UnknownName
        An option that does not exist, of any series.
    InvalidArgument
        Neither TOML nor JSON.
    NoSuchFile
        There is no such file.
    """
    table, where = _table(said, what)
    known = sorted(known)
    of_all = {key: value for key, value in table.items() if key != _TABLE}
    _check(of_all, where, [*known, _TABLE])
    by_name = table.get(_TABLE, {})
    if not isinstance(by_name, Mapping):
        raise wrong_type(f"'{_TABLE}' in {where}", by_name, "a table for each series, by its name")
    for series, own in by_name.items():
        if not isinstance(own, Mapping):
            raise wrong_type(
                f"'{_TABLE}.{series}' in {where}", own, "a table of options, of the series' name"
            )
        _check(own, f"{where}, series {shown(series)}", known)
    return {**of_all, **by_name.get(name, {})}


def _table(said: object, what: str) -> tuple[Mapping[str, object], str]:
    """Return what is said, and how messages call the place where it is."""
    if isinstance(said, Mapping):
        return said, what
    if not isinstance(said, str | os.PathLike):
        raise wrong_type(what, said, _ALLOWED)
    if isinstance(said, str) and _is_text(said):
        return _parsed(to_text(said, what), what, said.lstrip().startswith("{")), what
    path = to_path(said, what)
    where = f"'{shown_text(path)}'"
    try:
        with open(path, encoding="utf-8-sig") as file:  # as editors of Windows write it, too
            text = file.read()
    except FileNotFoundError:
        raise NoSuchFile(
            f"no such file of {what}: got {where}; allowed: {_ALLOWED}. Check the working "
            f"directory, {os.getcwd()}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"{where} cannot be read: got {_why(error)}; allowed: a file of TOML or JSON"
        ) from None
    return _parsed(text, where, path.endswith(".json") or text.lstrip().startswith("{")), where


def _is_text(said: str) -> bool:
    return said.lstrip().startswith("{") or ("=" in said and not os.path.exists(said))


def _parsed(text: str, where: str, is_json: bool) -> Mapping[str, object]:
    import tomllib  # few jobs say options, and all ranks import this module

    try:
        table = _of_json(text) if is_json else tomllib.loads(text)
    except ValueError as error:  # that of either
        raise InvalidArgument(
            f"{where} cannot be read as {'JSON' if is_json else 'TOML'}: got {said_by(error)}; "
            'allowed: lines such as engine = "hdf5", or JSON in braces'
        ) from None
    except RecursionError:
        raise InvalidArgument(
            f"{where} cannot be read: got too many braces in each other; allowed: a table"
        ) from None
    if not isinstance(table, Mapping):
        raise wrong_type(where, table, "a table of options")
    return table


def _of_json(text: str) -> object:
    return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_constant)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {shown(name)} twice in one table")
        found[name] = value
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word}, which JSON does not have")


def _check(table: Mapping[str, object], where: str, known: list[str]) -> None:
    """Refuse the first option that does not exist."""
    for key, value in table.items():
        if key in known:
            continue
        remedy = did_you_mean(key, known)
        if isinstance(value, Mapping):
            remedy = f'. A name with dots is quoted, as in [{_TABLE}."run.h5"]'
        raise UnknownName(
            f"unknown option in {where}: got {shown(key)}; allowed: {listed(known)}{remedy}"
        )


def _why(error: OSError | UnicodeDecodeError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else "bytes that are no UTF-8"
