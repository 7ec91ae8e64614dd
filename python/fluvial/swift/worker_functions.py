# SPDX-License-Identifier: Apache-2.0
"""Functions of the standard library that touch files, or that ranks of the pool run."""

from __future__ import annotations

import array
import functools
import glob
import os
import threading
import time

from ..base.whole_file import whole_file


def existing(path: str) -> str:
    """Return the path of a file that is there."""
    if not os.path.isfile(path):
        where = "a file that exists" if os.path.isabs(path) else f"a file below {os.getcwd()}"
        raise FileNotFoundError(f"no such file: got {path!r}; allowed: {where}")
    return path


def read_text(path: str) -> str:
    """Return what is in a file."""
    with open(existing(path), encoding="utf-8") as file:
        return file.read()


def read_lines(path: str) -> list[str]:
    """Return the lines of a file."""
    return read_text(path).splitlines()


def read_bytes(path: str) -> bytes:
    """Return what is in a file."""
    with open(existing(path), "rb") as file:
        return file.read()


def found_files(pattern: str) -> list[str]:
    """Return the files that match, in the order of the alphabet."""
    return sorted(path for path in glob.glob(pattern) if os.path.isfile(path))


def write_bytes(path: str, content: bytes) -> None:
    """Write a file, which is there when it is whole."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with whole_file(path) as partial, open(partial, "wb") as file:
        file.write(content)


def write_text(path: str, text: str) -> None:
    """Write a file."""
    write_bytes(path, text.encode())


def floats_as_bytes(values: dict[int, float]) -> bytes:
    """Return them as they lie in memory."""
    return array.array("d", values.values()).tobytes()


def bytes_as_floats(content: bytes) -> list[float]:
    """Return what lies there."""
    if len(content) % 8:
        raise ValueError(f"a blob of floats: got {len(content)} bytes; allowed: a multiple of 8")
    return list(array.array("d", content))


def sleep(seconds: float) -> None:
    """Keep a rank busy."""
    if not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"sleep: got {seconds:g}; allowed: 0 s or more")
    time.sleep(seconds)


@functools.cache
def _persistent() -> dict[str, object]:
    return {"__name__": "swift_script"}


def python(code: str, expression: str = '""') -> str:
    """Run code, and return an expression as text; names stay for the next call on this rank."""
    names = _persistent()
    exec(code, names)
    return str(eval(expression, names))
