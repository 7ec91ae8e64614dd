# SPDX-License-Identifier: Apache-2.0
"""Programs as `fluvial run` takes them: Python files, scripts, modules, executables."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable, Sequence

from .. import launch
from .._core import InvalidArgument
from ..base.messages import did_you_mean, listed, shown

_PYTHON = (sys.executable, os.path.join(os.path.dirname(launch.__file__), "python_program.py"))
_ALLOWED = "allowed: a Python program (.py), a script (.swift), an executable, a command on PATH"
_SCRIPT = ".swift"
_SWIFT = (sys.executable, "-m", "fluvial.swift")


def to_name(program: str) -> str:
    """Return what messages call the job of a program.

    >>> to_name("build/writer"), to_name("look.py"), to_name("tools.look")
    ('writer', 'look', 'tools.look')
    """
    return os.path.basename(program).removesuffix(".py").removesuffix(_SCRIPT)


def to_argv(words: Sequence[str], module: str | None) -> tuple[str, ...]:
    """Return the command line of one rank.

    Raises
    ------
    InvalidArgument
        When there is no such program, or something is wrong in a script.
    """
    if module is not None:
        _check_module(module)
        return *_PYTHON, "-m", module, *words
    program, *arguments = words
    if program.endswith(".py"):
        if not os.path.isfile(program):
            raise _not_found(program)
        return *_PYTHON, program, *arguments
    if program.endswith(_SCRIPT):
        _check_script(words)
        return *_SWIFT, program, *arguments  # it ends the other ranks itself, before its exit code
    return _executable(program), *arguments


def scripts_in(command_lines: Iterable[Sequence[str]], option: str) -> list[str]:
    """Return the scripts among command lines that `to_argv` has made.

    Raises
    ------
    InvalidArgument
        When there is none, of which `option` could say or ask something.
    """
    lines = [tuple(line) for line in command_lines]
    found = [line[len(_SWIFT)] for line in lines if line[: len(_SWIFT)] == _SWIFT]
    if not found:
        others = listed(map(_program_of, lines))
        raise InvalidArgument(
            f"{option} of what is no script: got {others}; allowed: a file {_SCRIPT}"
        )
    return found


def _program_of(line: Sequence[str]) -> str:
    """Return the program, or module, of a command line that `to_argv` has made."""
    typed = line[len(_PYTHON) :] if tuple(line[: len(_PYTHON)]) == _PYTHON else line
    return typed[1] if typed[0] == "-m" else typed[0]


def _check_script(words: Sequence[str]) -> None:
    """Find what is wrong in a script before anything runs."""
    program, *arguments = words
    if not os.path.isfile(program):
        raise _not_found(program)
    from ..swift.loading import load
    from ..swift.surroundings import Surroundings

    load(program, Surroundings(program, arguments))


def _executable(program: str) -> str:
    if os.path.isfile(program):
        if not os.access(program, os.X_OK):
            raise InvalidArgument(
                f"cannot run the program: got {shown(program)}, which is not executable; "
                f"{_ALLOWED}. `chmod +x` makes a file executable"
            )
        return program if os.sep in program else os.path.join(os.curdir, program)
    found = shutil.which(program)
    if found is None:
        raise _not_found(program)
    return found


def _not_found(program: str) -> InvalidArgument:
    folder = os.path.dirname(program)
    near = {os.path.join(folder, name) for name in _names_in(folder or os.curdir)}
    near = {name for name in near if name.endswith((".py", _SCRIPT)) or os.access(name, os.X_OK)}
    if not folder and not program.endswith((".py", _SCRIPT)):
        for path in os.get_exec_path():
            near.update(_names_in(path))
    return InvalidArgument(
        f"no such program: got {shown(program)}; {_ALLOWED}{did_you_mean(program, sorted(near))}"
    )


def _names_in(folder: str) -> Iterable[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return []


def _check_module(module: str) -> None:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # where `python -m` looks first
    top = module.partition(".")[0]
    if not top.isidentifier() or importlib.util.find_spec(top) is None:
        names = [name.removesuffix(".py") for name in _names_in(os.curdir) if name.endswith(".py")]
        near = did_you_mean(module, [*names, *sys.stdlib_module_names])
        raise InvalidArgument(
            f"no such module: got {shown(module)}; allowed: a module that this Python, "
            f"{sys.executable}, can import{near}"
        )
