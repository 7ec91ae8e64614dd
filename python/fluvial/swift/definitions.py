# SPDX-License-Identifier: Apache-2.0
"""What may stand in the definition of a leaf or an app function."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence

from .._core import Error
from ..base.messages import did_you_mean
from ..flow.exported import ExportedTask, library_tasks
from ..flow.parallel import is_parallel
from . import syntax
from .expression_checker import ExpressionChecker
from .kinds import BLOB, BOOLEAN, FILE, FLOAT, INT, STRING, VOID
from .script import Place

_IN_C = (INT, FLOAT, STRING, BOOLEAN, BLOB)
_OF_COMMANDS = (INT, FLOAT, STRING, BOOLEAN, FILE)
_CODES = {INT: "i", FLOAT: "f", BOOLEAN: "b", STRING: "s", BLOB: "x"}
_WORDS = {code: str(kind) for kind, code in _CODES.items()}
_MARKS = ("par", "pure")


class DefinitionChecker(ExpressionChecker):
    """Checks definitions that are not composite."""

    def check_names(self, definitions: Sequence[syntax.Definition]) -> None:
        """Check that no function is defined twice, and the annotations of definitions."""
        first: dict[str, Place] = {}
        for definition in definitions:
            name = definition.name
            if name in first:
                line = first[name].line
                self.report(definition.place, f"function {name!r} is defined twice: line {line}")
            first.setdefault(name, definition.place)
            for mark in definition.marks:
                if mark not in _MARKS:
                    allowed = ", ".join(f"@{known}" for known in _MARKS)
                    near = did_you_mean(mark, _MARKS)
                    self.report(
                        definition.place,
                        f"an annotation of a definition: got @{mark}; allowed: {allowed}{near}",
                    )
                elif mark == "par" and not isinstance(definition, syntax.Leaf):
                    self.report(
                        definition.place, "@par of a definition: allowed: of leaf functions"
                    )

    def check_leaf(self, leaf: syntax.Leaf) -> None:
        """Check that the module or library of a leaf is there, and what C can take."""
        for parameter in leaf.inputs:
            if parameter.kind.scalar == "void":
                self.report(parameter.place, "an input of a leaf: got void; allowed: other types")
        if leaf.template is not None:
            self._check_template(leaf)
        folder = os.path.dirname(leaf.place.script.name)
        library = library_of(leaf.package, folder)
        if library is None:
            if not _has_module(leaf.package, folder):
                self.report(
                    leaf.place,
                    f"no package of this name for leaf {leaf.name!r}: got {leaf.package!r}; "
                    f"allowed: a Python module, or a shared library lib{leaf.package}.so beside "
                    "the script or on LD_LIBRARY_PATH",
                )
            return
        if self._check_exported(leaf, library):
            return
        if leaf.template is not None:
            self.report(leaf.place, "a template of a leaf in a shared library: allowed: in Python")
        for parameter in [*leaf.inputs, *leaf.outputs]:
            if parameter.kind not in _IN_C and parameter.kind != VOID:
                allowed = ", ".join(map(str, _IN_C))
                self.report(
                    parameter.place,
                    f"{parameter.name!r} of a leaf in C: got {parameter.kind}; allowed: {allowed}",
                )

    def _check_exported(self, leaf: syntax.Leaf, library: str) -> bool:
        """Check the types of a function that the library exports for tasks; False if it is none."""
        try:
            exported = exported_of(leaf)
        except Error as error:
            self.report(leaf.place, f"the library of leaf {leaf.name!r}: {error}")
            return True
        if exported is None:
            return False
        declared = f"({_listed(leaf.outputs)}) {leaf.name}({_listed(leaf.inputs)})"
        codes = [
            "".join(_CODES.get(p.kind, "?") for p in side if p.kind != VOID)
            for side in (leaf.inputs, leaf.outputs)
        ]
        if codes != [exported.inputs, exported.outputs]:
            outputs, inputs = (
                ", ".join(_WORDS[code] for code in side)
                for side in (exported.outputs, exported.inputs)
            )
            self.report(
                leaf.place,
                f"types of a leaf in C++: got {declared}; allowed: ({outputs}) "
                f"{leaf.name}({inputs}), as {library} has it",
            )
        if leaf.parallel and not is_parallel(exported):
            self.report(
                leaf.place,
                f"@par of leaf {leaf.name!r}: {library} exports it as a serial function; allowed: "
                "one of exported_parallel()",
            )
        if leaf.template is not None:
            self.report(leaf.place, "a template of a leaf in a shared library: allowed: in Python")
        return True

    def _check_template(self, leaf: syntax.Leaf) -> None:
        known = [parameter.name for parameter in [*leaf.inputs, *leaf.outputs]]
        for name in re.findall(r"<<(\w+)>>", leaf.template or ""):
            if name not in known:
                near = did_you_mean(name, known)
                allowed = ", ".join(known) or "none"
                self.report(leaf.place, f"<<{name}>> of a template: allowed: {allowed}{near}")
        for output in leaf.outputs:
            if f"<<{output.name}>>" not in (leaf.template or "") and output.kind != VOID:
                self.report(output.place, f"output {output.name!r} is not set by the template")

    def check_app(self, app: syntax.App) -> None:
        """Check the words and streams of a command."""
        for output in app.outputs:
            if output.kind not in (FILE, VOID):
                message = (
                    f"output {output.name!r} of an app: got {output.kind}; allowed: file, void"
                )
                self.report(output.place, message)
            if output.symbol is not None:
                output.symbol.assigned = output.place
        for word in app.words:
            kind = self.check(word)
            element = kind.element if kind is not None and kind.is_array else kind
            if element is not None and element not in _OF_COMMANDS:
                allowed = ", ".join(map(str, _OF_COMMANDS)) + ", arrays of them"
                self.report(word.place, f"a word of a command: got {kind}; allowed: {allowed}")
        seen = set()
        for redirection in app.redirections:
            stream = redirection.stream
            if stream in seen:
                self.report(redirection.place, f"@{stream} is given twice")
            seen.add(stream)
            self.check_as(redirection.file, FILE, f"@{stream}")
            is_output = isinstance(redirection.file, syntax.Name) and redirection.file.name in {
                output.name for output in app.outputs
            }
            if is_output == (stream == "stdin"):
                allowed = "an input" if stream == "stdin" else "an output of the app"
                self.report(redirection.place, f"@{stream}: allowed: {allowed}")


def exported_of(leaf: syntax.Definition) -> ExportedTask | None:
    """Return the exported C++ function that a leaf names, or None."""
    if not isinstance(leaf, syntax.Leaf):
        return None
    library = library_of(leaf.package, os.path.dirname(leaf.place.script.name))
    return (library_tasks(library) or {}).get(leaf.function) if library is not None else None


def _listed(parameters: Sequence[syntax.Parameter]) -> str:
    return ", ".join(str(parameter.kind) for parameter in parameters)


def library_of(package: str, folder: str) -> str | None:
    """Return the path of a shared library, or None."""
    name = package if package.endswith(".so") else f"lib{package}.so"
    if os.sep in package:
        places = [os.path.join(folder, package) if not os.path.isabs(package) else package]
    else:
        search = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        places = [os.path.join(place, name) for place in [folder or os.curdir, *search] if place]
    return next((os.path.abspath(place) for place in places if os.path.isfile(place)), None)


def _has_module(package: str, folder: str) -> bool:
    path = os.path.join(folder or os.curdir, *package.split("."))
    if os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py")):
        return True
    top = package.partition(".")[0]
    return top.isidentifier() and importlib.util.find_spec(top) is not None
