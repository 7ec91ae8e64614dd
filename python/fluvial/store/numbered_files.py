# SPDX-License-Identifier: Apache-2.0
"""Files with the number of an iteration in their names: "data%T.h5", "data_%06T.h5"."""

from __future__ import annotations

import os
import re

from .._core import InvalidArgument, NoSuchFile
from ..base.messages import shown_text

_NUMBER = re.compile(r"%(0\d{1,2})?T")


_MISTAKEN = re.compile(r"%\d+T")


def has_number(name: str) -> bool:
    """Tell whether a name stands for a file of each iteration."""
    return _NUMBER.search(name) is not None


def check_number(name: str) -> None:
    """Refuse a name of files to write in which what would be a number is none, such as "%6T".

    Raises
    ------
    InvalidArgument
        It would be the name of one file, as it stands.
    """
    if not has_number(name) and (found := _MISTAKEN.search(name)):
        raise InvalidArgument(
            f"this is no number in the name of a file: got '{found[0]}' in '{shown_text(name)}'; "
            "allowed: %T, or %06T for six digits (01 to 099 of them)"
        )


def shell_pattern(name: str) -> str:
    """Return the pattern of the files of all iterations.

    >>> shell_pattern("run/data_%06T.h5")
    'run/data_*.h5'
    """
    return _NUMBER.sub("*", name)


def file_of_number(pattern: str, number: int) -> str:
    """Return the path of the file with a number.

    >>> file_of_number("run/data_%06T.h5", 12)
    'run/data_000012.h5'
    """
    folder, name = os.path.split(pattern)
    width = _NUMBER.search(name)
    digits = int(width[1]) if width is not None and width[1] else 0
    return os.path.join(folder, _NUMBER.sub(f"{number:0{digits}d}", name))


def numbered_files(pattern: str) -> list[tuple[int, str]]:
    """Return number and path of each file of a pattern, in ascending order. Local.

    "%T" stands for any number of digits, "%06T" for six, with zeros in front, or more where the
    number has more.

    Raises
    ------
    InvalidArgument
        "%T" is not in the file's own name, or comes twice; two files have one number.
    NoSuchFile
        No file fits.
    """
    folder, name = os.path.split(pattern)
    marks = list(_NUMBER.finditer(name))
    if len(marks) != 1 or has_number(folder):
        raise InvalidArgument(
            f"cannot use the pattern of files: got '{shown_text(pattern)}'; allowed: one %T, or "
            "%06T, in the file's own name, as in 'run/data%T.h5'"
        )
    fits = _expression(name, marks[0])
    found: dict[int, str] = {}
    for entry in sorted(_entries(folder or ".")):
        if (match := fits.fullmatch(entry)) is None:
            continue
        number = int(match[1])
        if number in found:
            raise InvalidArgument(
                f"two files have the number {number}: got '{entry}'; allowed: "
                f"'{os.path.basename(found[number])}' alone. Name the digits, as in %06T"
            )
        found[number] = os.path.join(folder, entry)
    if not found:
        raise NoSuchFile(
            f"no such files: got '{shown_text(pattern)}'; allowed: files that exist. Check the "
            f"pattern and the working directory, {os.getcwd()}."
        )
    return sorted(found.items())


def fits_pattern(path: str, pattern: str) -> bool:
    """Tell whether a file is one of those that a pattern stands for. Local.

    >>> fits_pattern("run/data12.h5", "run/data%T.h5")
    True
    """
    folder, name = os.path.split(pattern)
    mark = _NUMBER.search(name)
    own_folder, own = os.path.split(os.path.realpath(path))
    return (
        mark is not None
        and os.path.realpath(folder or ".") == own_folder
        and _expression(name, mark).fullmatch(own) is not None
    )


def _expression(name: str, mark: re.Match[str]) -> re.Pattern[str]:
    """Return what fits the names of a pattern; its group is the number."""
    digits = rf"\d{{{int(mark[1])},}}" if mark[1] else r"\d+"
    return re.compile(f"{re.escape(name[: mark.start()])}({digits}){re.escape(name[mark.end() :])}")


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise NoSuchFile(
            f"no such folder: got '{shown_text(folder)}' ({error.strerror}); allowed: one that can "
            f"be listed. Check the working directory, {os.getcwd()}."
        ) from None
