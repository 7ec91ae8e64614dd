# SPDX-License-Identifier: Apache-2.0
"""The rule that public signatures of the package say what they take and give, and not `Any`."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

_ANY = re.compile(r"\bAny\b")

# Where a value truly can be anything, or types cannot tell what it is.
_WHY_ANY = {
    "which of several it is follows from the data or from arguments that types do not see": (
        "compute/registry.py:Reduced",
        "describe/attributes.py:Attributes",
        "describe/records.py:Record",
        "describe/records.py:Record.__getitem__",
        "describe/records.py:Record.__getattr__",
        "describe/records.py:Records",
        "describe/records.py:Records.__getitem__",
        "opening.py:open",
        "scan/file_step.py:FileStep.time",
    ),
    "a library of C++, or the pickled bytes, say what it is": (
        "flow/exported.py:ExportedTask.__call__",
        "flow/exported.py:ParallelExportedTask.__call__",
        "flow/payload.py:unpacked",
    ),
    "a future of whatever result: futures are invariant, so that no other type holds them all": (
        "flow/future.py:AnyFuture",
        "flow/task_core.py:TaskPlace",
    ),
    "what a caller has given, before it is checked": ("describe/engines.py:Options",),
    "a value of a script, or a node of its tree, whose type the script's own checker knows": (
        "swift/builtin.py:Builtin.function",
        "swift/frames.py:Get",
        "swift/operators.py:Function",
        "swift/rule_parts.py:Parts",
        "swift/tree_builder.py:TreeBuilder.build",
        "swift/variables.py:Variable.get",
    ),
}
ALLOWED = frozenset(f"python/fluvial/{place}" for places in _WHY_ANY.values() for place in places)


def public_types_said(path: pathlib.Path, text: str) -> Iterator[str]:
    """Public functions, attributes and types of python/fluvial are free of `Any`."""
    for line, name in any_in(path, text):
        if f"{path.as_posix()}:{name}" not in ALLOWED:
            yield (
                f"{path}:{line}: Any in the types of {name}: say what it is, by a union, a "
                "Protocol, a TypeVar or an overload; if it truly can be anything, say why in "
                "tests/style/public_types.py"
            )


def any_in(path: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of what is public in a file of the package and has `Any` in its types."""
    if path.parts[:2] == ("python", "fluvial") and path.suffix == ".py":
        yield from _any_among(ast.parse(text).body, "")


def _any_among(body: list[ast.stmt], inside: str) -> Iterator[tuple[int, str]]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _any_among([*node.body, *node.orelse], inside)
            continue
        name = _name_of(node)
        if name is None or not _is_public(name):
            continue
        if any(_ANY.search(ast.unparse(said)) for said in _types_of(node)):
            yield node.lineno, f"{inside}{name}"
        if isinstance(node, ast.ClassDef):
            yield from _any_among(node.body, f"{inside}{name}.")


def _name_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.Assign):
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _types_of(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a definition says of types: bases, annotations, and what an alias stands for."""
    if isinstance(node, ast.ClassDef):
        yield from node.bases
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        said = [one.annotation for one in every if one is not None]
        yield from (one for one in (*said, node.returns) if one is not None)
    elif isinstance(node, ast.AnnAssign):
        yield node.annotation
        if ast.unparse(node.annotation) == "TypeAlias" and node.value is not None:
            yield node.value
    elif isinstance(node, ast.Assign):
        yield node.value
