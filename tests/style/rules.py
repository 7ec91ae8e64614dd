# SPDX-License-Identifier: Apache-2.0
"""The rules of this code base that a program can check; each yields "path:line: what is wrong"."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from public_types import public_types_said

LINES_MAX = 400
FUNCTION_LINES_MAX = 70

# What a folder of src/fluvial may include besides itself: what stands below it.
BENEATH = {
    "base": set(),
    "describe": {"base"},
    "mpi": {"base", "describe"},
    "compute": {"base", "describe"},
    "distribute": {"base", "describe"},
    "route": {"base", "describe"},
    "store": {"base", "describe"},
    "host": {"base", "describe", "mpi"},
    "progress": {"base", "describe", "mpi", "host"},
    "move": {"base", "describe", "distribute", "route", "mpi", "host", "progress"},
    "stage": {
        *("base", "describe", "mpi", "compute", "distribute", "route", "store", "host", "progress"),
        "move",
    },
    "scan": {
        *("base", "describe", "mpi", "compute", "distribute", "route", "store", "host", "progress"),
        "move",
        "stage",
    },
    "stream": {"base", "describe", "mpi", "compute", "host", "progress", "move"},
    "flow": {"base", "describe", "mpi", "host", "progress", "move"},
    "c": {
        *("base", "describe", "mpi", "compute", "distribute", "route", "store", "host", "progress"),
        "move",
        *("stage", "scan", "stream"),
    },
}
# The same for the sub-packages of python/fluvial, which are named as the floors. The files beside
# them (fluvial.ops, what fluvial.open and fluvial.reduce are) stand above all of them.
BENEATH_IN_PYTHON = {
    **{folder: BENEATH[folder] for folder in ("base", "describe", "mpi", "compute", "distribute")},
    **{folder: BENEATH[folder] for folder in ("store", "stage", "scan", "stream")},
    "flow": {*BENEATH["flow"], "launch"},
    "swift": {"base", "flow", "launch"},
    "route": {*BENEATH["route"], "mpi"},  # its exchange is what moves data along plans
    "xarray": {*BENEATH["scan"], "scan"},
    "pipeline": {
        "base",
        "describe",
        "mpi",
        "distribute",
    },  # of series it knows what all have in common
    "launch": set(),  # the harness of the tests imports it without the package
    "cli": {*BENEATH["c"], "route", "flow", "launch", "pipeline", "swift", "opening", "piping"},
}
# <mpi.h> belongs to src/fluvial/mpi; outside of src these need it: mains of MPI programs, and the
# place where communicators cross from Python, and the header whose functions take them in C.
MPI_ALLOWED = (
    "src/fluvial/mpi/",
    "cmake/mpi_test_main.cpp",
    "examples/",
    "bench/",
    "python/bindings/mpi.cpp",
    "src/fluvial/c/fluvial.h",
    "src/fluvial/c/MPIStream.h",
    "src/fluvial/c/series.h",
)

_FORBIDDEN_STEMS = {"util", "utils", "helper", "helpers", "common", "misc", "internal"}
_NAMES_OF_OTHERS = {"MPIStream.h"}  # what programs written for the paper's library include
_SNAKE_CASE = re.compile(r"_*[a-z][a-z0-9_]*")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
_SOURCE = (".cpp", ".hpp", ".c", ".h", ".py", ".cmake", ".sh")


def sources(root: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of the repository, tracked or about to be, as paths relative to `root`."""
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, text=True
    )
    return [pathlib.Path(p) for p in sorted(set(listed.split("\0"))) if p and (root / p).is_file()]


def _is_code(path: pathlib.Path) -> bool:
    return path.suffix in _SOURCE or path.name in ("CMakeLists.txt", "run")


def license_named(path: pathlib.Path, text: str) -> Iterator[str]:
    """Each source file opens with its licence."""
    if (
        _is_code(path)
        and text.strip()
        and not any("SPDX-License-Identifier: Apache-2.0" in line for line in text.splitlines()[:2])
    ):
        yield f"{path}:1: the first line is not 'SPDX-License-Identifier: Apache-2.0'"


def file_named(path: pathlib.Path, text: str) -> Iterator[str]:
    """A file is the noun that it defines, in snake_case."""
    if path.suffix in (".cpp", ".hpp", ".c", ".h", ".py"):
        if path.stem in _FORBIDDEN_STEMS:
            yield f"{path}: name the file after what it defines, not {path.stem!r}"
        elif not _SNAKE_CASE.fullmatch(path.stem) and path.name not in _NAMES_OF_OTHERS:
            yield f"{path}: file names are snake_case"


def floors_kept(path: pathlib.Path, text: str) -> Iterator[str]:
    """A folder of src/fluvial includes only what stands below it."""
    if path.parts[:2] != ("src", "fluvial") or len(path.parts) < 4:
        return
    folder = path.parts[2]
    if folder not in BENEATH:
        yield f"{path}: folder {folder!r} has no floor; give it one in tests/style/rules.py"
        return
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _INCLUDE.match(line)) and match[1].startswith("fluvial/"):
            included = match[1].split("/")[1]
            if included != folder and included not in BENEATH[folder]:
                yield (
                    f"{path}:{number}: {folder}/ includes {match[1]}; "
                    f"below it stand only {', '.join(sorted(BENEATH[folder])) or 'nothing'}"
                )


class PythonImport(NamedTuple):
    """A module of the package that another one imports."""

    line: int
    module: str
    """With its dots: "fluvial.base.messages"."""
    in_function: bool


def python_imports(path: pathlib.Path, text: str) -> Iterator[PythonImport]:
    """Yield what a module of python/fluvial imports of the package, in functions, too."""
    package = path.with_suffix("").parts[1:-1]
    tree = ast.parse(text)
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            origin = ".".join([*above, *([node.module] if node.module else [])])
            # Of a package its modules, of a module what it defines: the file system would know.
            names = [f"{origin}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "fluvial" and isinstance(node, ast.Import | ast.ImportFrom):
                yield PythonImport(node.lineno, name, id(node) in inside)


def python_floors_kept(path: pathlib.Path, text: str) -> Iterator[str]:
    """A sub-package of python/fluvial imports only what stands below it, at the top of the file.

    The words of the command import what they need when they are called.
    """
    if path.parts[:2] != ("python", "fluvial") or len(path.parts) < 4 or path.suffix != ".py":
        return
    folder = path.parts[2]
    if folder not in BENEATH_IN_PYTHON:
        yield f"{path}: sub-package {folder!r} has no floor; give it one in tests/style/rules.py"
        return
    for line, module, in_function in python_imports(path, text):
        imported = module.split(".")[1]
        if imported not in {"_core", folder, *BENEATH_IN_PYTHON[folder]}:
            below = ", ".join(sorted(BENEATH_IN_PYTHON[folder] & BENEATH_IN_PYTHON.keys()))
            yield (
                f"{path}:{line}: {folder}/ imports {module}; "
                f"below it stand only {below or 'nothing'}"
            )
        elif in_function and folder != "cli":
            yield f"{path}:{line}: import {module} at the top of the file; move what both need down"


def circles(modules: Mapping[pathlib.Path, str]) -> list[str]:
    """Return a message for each circle of imports among files of python/fluvial."""
    names = {".".join(path.with_suffix("").parts[1:]): path for path in modules}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    imports: dict[str, set[str]] = {}
    for name, path in names.items():
        found = {module for _, module, _ in python_imports(path, modules[path])}
        found -= {module for module in found if module.split(".")[1:2] == ["_core"]}
        found = {m if m in names else m.rpartition(".")[0] for m in found}
        imports[name] = found & names.keys() - {name}
    messages, done = [], set()

    def follow(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            messages.append(f"imports in a circle: {' → '.join([*way[way.index(name) :], name])}")
        elif name not in done:
            for other in sorted(imports[name]):
                follow(other, (*way, name))
            done.add(name)

    for name in sorted(names):
        follow(name, ())
    return messages


def python_circles(root: pathlib.Path) -> list[str]:
    """Return a message for each circle of imports in the package."""
    paths = [p for p in sources(root) if p.parts[:2] == ("python", "fluvial") and p.suffix == ".py"]
    return circles({path: (root / path).read_text(encoding="utf-8") for path in paths})


def mpi_at_home(path: pathlib.Path, text: str) -> Iterator[str]:
    """Only src/fluvial/mpi calls MPI; a test of what stands above it may, too."""
    if path.suffix not in (".cpp", ".hpp", ".c", ".h") or path.as_posix().startswith(MPI_ALLOWED):
        return
    above_mpi = len(path.parts) > 2 and "mpi" in BENEATH.get(path.parts[2], ())
    if above_mpi and path.stem.endswith("_test"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _INCLUDE.match(line)) and match[1] == "mpi.h":
            yield f"{path}:{number}: only src/fluvial/mpi includes <mpi.h>"


def file_short(path: pathlib.Path, text: str) -> Iterator[str]:
    """A file past 400 lines has two ideas in it."""
    lines = text.count("\n")
    if _is_code(path) and lines > LINES_MAX:
        yield f"{path}: {lines} lines (more than {LINES_MAX}): has it two ideas in it?"


def function_short(path: pathlib.Path, text: str) -> Iterator[str]:
    """A function past 70 lines has two ideas in it (Python; clang-tidy looks at C++)."""
    if path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {lines} lines "
                    f"(more than {FUNCTION_LINES_MAX})"
                )


_OTHER_CLOCKS = re.compile(
    r"\b(steady_clock|system_clock|high_resolution_clock|sleep_for|sleep_until|nanosleep|usleep)\b"
    r"|clock_gettime\(CLOCK_MONOTONIC"
)


def one_clock(path: pathlib.Path, text: str) -> Iterator[str]:
    """Time passes by base/clock.hpp, which a simulated machine replaces; tests may do otherwise."""
    place = path.with_suffix("").as_posix()
    if (
        path.suffix not in (".cpp", ".hpp", ".c", ".h")
        or not place.startswith(("src/fluvial/", "python/bindings/"))
        or place == "src/fluvial/base/clock"
        or place.endswith(("_test", "_bench", "_fixture", "conformance"))
    ):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if match := _OTHER_CLOCKS.search(line):
            yield f"{path}:{number}: {match[0]}: base/clock.hpp has now_ns(), Deadline, sleep_ns()"


# Images and invented words, and the words of the field that say the same.
_WORDS = {
    "courier": "flusher",
    "desk": "staging buffer",
    "crowd": "oversubscription",
    "crowded": "oversubscribed",
    "idling": "back-off",
    "standstill": "quiescence",
    "mail": "control message",
    "meeting": "barrier",
    "dealing": "work sharing",
    "distrust": "check",
}
_IMAGES = re.compile(rf"(?<![a-z])({'|'.join(_WORDS)})(?![a-z])", re.IGNORECASE)
_FOLDERS_WITH_THE_WORDS = ("src", "python", "plugins", "examples", "demo", "bench", "tests")
# Of the library alone: a noun (a rank may well answer), and a pronoun of persons.
_NOUNS = {
    re.compile(
        r"(?<![a-z])(?:an|the|its|no|first|another|of|take|check)[ _]answers?(?![a-z])"
        r"|(?<![a-z])answers?(?= = |\.\w|->|_\b)",
        re.IGNORECASE,
    ): "the field says 'reply' or 'result'",
    re.compile(
        r"(?<!\w)who(?:ever)? (?!in\b|[=+<])", re.IGNORECASE
    ): "say which: the rank, the thread or the program that",
}


def _of_the_library(path: pathlib.Path) -> bool:
    within = path.parts[0] == "src" or path.parts[:2] in (
        ("python", "fluvial"),
        ("python", "bindings"),
    )
    return within and not path.stem.endswith("_test")


def words_of_the_field(path: pathlib.Path, text: str) -> Iterator[str]:
    """A thing has the name that the field gives it."""
    if not _is_code(path) or path.parts[0] not in _FOLDERS_WITH_THE_WORDS:
        return
    if path.parts[:2] == ("tests", "style"):  # which names the words
        return
    for number, line in enumerate(text.splitlines(), 1):
        for match in _IMAGES.finditer(line):
            yield f"{path}:{number}: '{match[0]}': the field says '{_WORDS[match[0].lower()]}'"
        for noun, instead in _NOUNS.items() if _of_the_library(path) else ():
            if match := noun.search(line):
                yield f"{path}:{number}: '{match[0].strip()}': {instead}"


Rule = Callable[[pathlib.Path, str], Iterable[str]]
RULES: tuple[Rule, ...] = (
    *(license_named, file_named, floors_kept, python_floors_kept, mpi_at_home),
    *(words_of_the_field, one_clock, public_types_said),
)
ADVICE: tuple[Rule, ...] = (file_short, function_short)


def violations(root: pathlib.Path, rules: Iterable[Rule]) -> list[str]:
    """Return what breaks `rules` in the repository at `root`."""
    rules = tuple(rules)
    found = []
    for path in sources(root):
        if _is_code(path):
            text = (root / path).read_text(encoding="utf-8")
            found += [message for rule in rules for message in rule(path, text)]
    return found
