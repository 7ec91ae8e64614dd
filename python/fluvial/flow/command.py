# SPDX-License-Identifier: Apache-2.0
"""Programs as tasks."""

from __future__ import annotations

import contextlib
import errno
import numbers
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import AnyStr, Literal, overload

import numpy as np

from .. import _core
from ..base.arguments import to_mapping, to_path, to_text, to_wait, wrong_type
from ..base.messages import shown
from ..launch.job import Job
from ..launch.rank_environment import outside_of_jobs
from .standard_streams import input_file, output_ends, outputs_of

_LINES_SHOWN = 10
_LINE_WIDTH = 500
_END_BYTES = 64 << 10  # of an output that is in a file: what is looked at for its last lines


class CompletedCommand(subprocess.CompletedProcess[AnyStr]):
    """A `subprocess.CompletedProcess` with the files that were asked for.

    Attributes
    ----------
    files : dict
        Their bytes, by their names.
    """

    files: dict[str, bytes]


class CommandFailed(_core.Error, subprocess.CalledProcessError):
    """A program ended with an exit code that is not 0; the message has its last lines."""

    def __init__(
        self,
        returncode: int,
        cmd: list[str],
        output: str | bytes | None = None,
        stderr: str | bytes | None = None,
        last: str = "",
    ) -> None:
        subprocess.CalledProcessError.__init__(self, returncode, cmd, output, stderr)
        self.last = last

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.returncode, self.cmd, self.output, self.stderr, self.last)

    def __str__(self) -> str:
        number = self.returncode - 128
        how = f"signal {number}" if number in signal.valid_signals() else "an error"
        return (
            f"a program ended with {how}: got exit code {self.returncode} of "
            f"{shown(self.cmd)}; allowed: 0, or any with check=False. {self.last}"
        )


@overload
def command(
    args: Sequence[str | os.PathLike[str] | int | float],
    *,
    input: str | bytes | None = None,
    stdout: str | os.PathLike[str] | None = None,
    stderr: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    check: bool = True,
    text: Literal[True] = True,
    files: Mapping[str, str | bytes] | None = None,
    outputs: Iterable[str] = (),
) -> CompletedCommand[str]: ...
@overload
def command(
    args: Sequence[str | os.PathLike[str] | int | float],
    *,
    input: str | bytes | None = None,
    stdout: str | os.PathLike[str] | None = None,
    stderr: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    check: bool = True,
    text: Literal[False],
    files: Mapping[str, str | bytes] | None = None,
    outputs: Iterable[str] = (),
) -> CompletedCommand[bytes]: ...
def command(
    args: Sequence[str | os.PathLike[str] | int | float],
    *,
    input: str | bytes | None = None,
    stdout: str | os.PathLike[str] | None = None,
    stderr: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    check: bool = True,
    text: bool = True,
    files: Mapping[str, str | bytes] | None = None,
    outputs: Iterable[str] = (),
) -> CompletedCommand[str] | CompletedCommand[bytes]:
    """Run a program and wait for its end, as `subprocess.run` does; to be submitted as a task.

    It runs without the variables by which an MPI launcher marks its ranks, so it may be an MPI
    program or an mpiexec. No process of it is left when this returns, nor when this rank is killed.

    Parameters
    ----------
    args
        The program and its arguments; numbers are written out.
    input
        What it reads from its standard input, which is empty otherwise.
    stdout, stderr
        Files for its output, which may be one file; by default it is in the result.
    cwd
        The folder to run in. By default that of this rank; with `files` or `outputs` one of its
        own, which is removed afterwards.
    env
        Variables to set beside those of this rank; None removes one.
    timeout
        Seconds after which it is killed, with all processes that came of it.
    check
        Whether another exit code than 0 is an error.
    text
        Outputs are text, and bytes otherwise.
    files
        Files to be written into the folder before, by name.
    outputs
        Names of files to be read from there afterwards.

    Raises
    ------
    CommandFailed
        For its exit code; 128 + n when signal n has ended it, 127 when it could not be executed.
        Has `returncode`, `stdout`, `stderr`.
    TimedOut
        When it was killed; the message has its last lines.
    TaskCancelled
        When it was killed because its task was cancelled.
    NoSuchFile
        When there is no such program, or it has not written one of `outputs`.

    Examples
    --------
    >>> import fluvial as fl
    >>> with fl.Pool() as pool:
    ...     done = pool.submit(fl.command, ["wc", "-c"], input="twelve bytes")
    ...     print(done.result().stdout.strip())
    12
    """
    words = _words(args)
    names = [to_text(name, "a name in outputs") for name in _several(outputs, "outputs", "names")]
    contents = {
        to_path(to_text(name, "a name in files"), "a name in files"): _content(
            content, f"files[{name!r}]"
        )
        for name, content in to_mapping(files, "files", "a dict of texts or bytes by name").items()
    }
    given = None if input is None else _content(input, "input")
    limit = to_wait(timeout, "timeout")
    own_folder = cwd is None and bool(contents or names)
    if own_folder:
        _check_outlive(stdout, stderr, names)
    with _folder(cwd, own_folder) as folder:
        for name, content in contents.items():
            _write(_inside(folder, name), content, name)
        environment = _environment(env)
        words[:1] = [_program(words, folder, environment)]
        done = _run(words, given, (stdout, stderr), folder, environment, limit, text)
        if check and done.returncode != 0:
            last = _last_lines(done, folder, (stdout, stderr))
            raise CommandFailed(done.returncode, done.args, done.stdout, done.stderr, last)
        done.files = {name: _read(folder, name, words) for name in names}
        return done


def _words(args: object) -> list[str]:
    allowed = 'a list of the program and its arguments, such as ["ls", "-l"]'
    return [_word(word) for word in _several(args, "args", allowed)]


def _word(word: object) -> str:
    if isinstance(word, str | os.PathLike):
        return to_path(word, "a word of args")
    if isinstance(word, numbers.Real | np.generic):
        return str(word)
    raise wrong_type("a word of args", word, "a str, a path or a number")


def _several(values: object, what: str, allowed: str) -> list[object]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise wrong_type(what, values, allowed)
    return list(values)


def _content(content: object, what: str) -> bytes:
    if isinstance(content, str):
        return to_text(content, what).encode()
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise wrong_type(what, content, "text or bytes")


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    environment = outside_of_jobs(os.environ)
    for name, value in to_mapping(changes, "env", "a dict of texts by name").items():
        if not to_path(name, "a name in env") or "=" in name:
            raise _core.InvalidArgument(
                f"a name in env: got {shown(name)}; allowed: a name without '=' in it"
            )
        environment.pop(name, None)
        if value is not None:
            environment[name] = to_path(value, f"env[{name!r}]")
    return environment


@contextlib.contextmanager
def _folder(cwd: str | os.PathLike[str] | None, own: bool) -> Iterator[pathlib.Path]:
    if cwd is not None or not own:
        folder = pathlib.Path("." if cwd is None else to_path(cwd, "cwd")).absolute()
        if not os.path.isdir(folder):
            raise _core.NoSuchFile(f"no folder to run a program in: got {shown(str(folder))}")
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="fluvial-command-") as made:
        yield pathlib.Path(made)


def _inside(folder: pathlib.Path, name: str) -> pathlib.Path:
    path = pathlib.Path(os.path.normpath(folder / name))
    if not path.is_relative_to(folder):
        raise _core.InvalidArgument(
            f"a file of a program: got {shown(name)}; allowed: names below its folder"
        )
    return path


def _write(target: pathlib.Path, content: bytes, name: str) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise _core.NoSuchFile(
            f"a file for a program cannot be written: got {shown(name)} ({error.strerror}); "
            "allowed: names of files, none of which is a folder of another, where there is room"
        ) from None


def _program(words: list[str], folder: pathlib.Path, environment: Mapping[str, str]) -> str:
    if not words:
        raise _core.InvalidArgument("a program to run: got no words; allowed: its name, at least")
    name = str(folder / words[0]) if os.path.dirname(words[0]) else words[0]
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    if found is None:
        why = "which is not on this rank's PATH"
        if os.path.dirname(words[0]):
            there = os.path.exists(name)
            why = "which may not be executed" if there else "which is not there"
        raise _core.NoSuchFile(
            f"no program to run: got {shown(words[0])}, {why}; allowed: a program on PATH, or the "
            "path of one that may be executed (chmod +x)"
        )
    return found


def _run(
    words: list[str],
    given: bytes | None,
    outputs: tuple[str | os.PathLike[str] | None, ...],
    folder: pathlib.Path,
    environment: dict[str, str],
    timeout: float | None,
    text: bool,
) -> CompletedCommand[str] | CompletedCommand[bytes]:
    with contextlib.ExitStack() as opened:
        ends = output_ends(opened, folder, outputs)
        stdin = subprocess.DEVNULL if given is None else opened.enter_context(input_file(given))
        try:
            job = Job.start(
                words,
                name=os.path.basename(words[0]),
                ranks=1,
                env=environment,
                cwd=folder,
                stdin=stdin,
                stdout=ends[0],
                stderr=ends[1],
            )
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise
            raise _too_long(words, environment) from None
        with job:
            told, late = outputs_of(job.process, timeout)
            code = job.wait()
    done: CompletedCommand[str] | CompletedCommand[bytes]
    if text:
        done = CompletedCommand(words, code, *map(_decoded, told))
    else:
        done = CompletedCommand(words, code, *told)
    if late:
        raise _core.TimedOut(
            f"a program was killed at its time limit: got {shown(words)}; allowed: up to "
            f"{timeout:g} s. {_last_lines(done, folder, outputs)}"
        )
    return done


def _too_long(words: list[str], environment: dict[str, str]) -> _core.InvalidArgument:
    size = sum(len(os.fsencode(word)) + 1 for word in words)
    return _core.InvalidArgument(
        f"the words of a program, and its environment, are too long: got {size} bytes in "
        f"{len(words)} words, beside {len(environment)} variables; allowed: what this system gives "
        "to programs (getconf ARG_MAX, and 128 KiB a word). Put them into a file (files, or input)"
    )


def _check_outlive(
    stdout: str | os.PathLike[str] | None, stderr: str | os.PathLike[str] | None, names: list[str]
) -> None:
    """Refuse a file for an output that would be removed with the folder before anyone saw it."""
    for name, path in (("stdout", stdout), ("stderr", stderr)):
        given = None if path is None else to_path(path, "a file for the output")
        if given is None or os.path.isabs(given):
            continue
        if os.path.normpath(given) not in map(os.path.normpath, names):
            raise _core.InvalidArgument(
                f"{name} is a file in a folder that is removed afterwards: got {shown(given)}; "
                "allowed: a name that is in outputs, or an absolute path. Add it to outputs, or "
                "give a folder as cwd"
            )


def _decoded(output: bytes | None) -> str | None:
    return None if output is None else output.decode(errors="replace")


def _last_lines(
    done: CompletedCommand[str] | CompletedCommand[bytes],
    folder: pathlib.Path,
    outputs: tuple[str | os.PathLike[str] | None, ...],
) -> str:
    """Say how the program's outputs end: standard error, or standard output where that is empty."""
    said = []
    for path, captured in zip(outputs, (done.stdout, done.stderr), strict=True):
        if path is not None:
            captured = _end_of(folder / path)
        said.append(captured.decode(errors="replace") if isinstance(captured, bytes) else captured)
    lines = (said[1].strip() or said[0].strip()).splitlines()[-_LINES_SHOWN:]
    if not lines:
        return "It printed nothing"
    return "It printed last:\n" + "\n".join(line[:_LINE_WIDTH] for line in lines)


def _end_of(path: pathlib.Path) -> bytes:
    """Of a file; a device or a pipe would have to be waited for, and may have no end."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
        return file.read(_END_BYTES)


def _read(folder: pathlib.Path, name: str, words: list[str]) -> bytes:
    path = _inside(folder, name)
    why = "No such file" if not path.exists() else "no file, but a folder, a pipe or a device"
    try:
        if path.is_file():  # else it may never end
            return path.read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
    raise _core.NoSuchFile(
        f"a program has not written a file that was asked for: got {shown(name)} of "
        f"{shown(words)} ({why})"
    )
