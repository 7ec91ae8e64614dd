# SPDX-License-Identifier: Apache-2.0
"""`dir` shows the public names of the package, and all of them are documented."""

import pathlib
import re
import subprocess
import sys

import pytest

import fluvial as fl

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"


def documented(page, module):
    """The names that a page of the reference documents as the module's."""
    found, current = set(), ""
    for line in (REFERENCE / page).read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            current = match[1]
        elif (
            match := re.match(r"\.\. auto(?:class|function):: (\w+)", line)
        ) and current == module:
            found.add(match[1])
    return found


def test_dir_shows_what_the_reference_documents_and_nothing_else():
    errors = set(re.findall(r"^\| `(\w+)`", (REFERENCE / "errors.md").read_text(), flags=re.M))
    shown = set(dir(fl))
    assert shown - errors == documented("python.md", "fluvial") | {
        "__version__",
        "distribute",
        "ops",
        "route",
    }
    assert {name for name in shown & errors if issubclass(getattr(fl, name), fl.Error)} == {
        name for name in errors if hasattr(fl, name)
    }


def test_dir_shows_the_operators_that_the_reference_documents():
    assert set(dir(fl.ops)) == documented("operators.md", "fluvial.ops")


def test_dir_shows_the_strategies_that_the_reference_documents():
    found = documented("python.md", "fluvial.distribute")
    # A type for annotations, and a place.
    assert set(dir(fl.distribute)) == found | {"Place", "ANYWHERE"}


def test_dir_shows_what_the_reference_documents_of_routes():
    assert set(dir(fl.route)) == documented("python.md", "fluvial.route")


@pytest.mark.parametrize(
    "module", [fl, fl.ops, fl.distribute, fl.route], ids=lambda module: module.__name__
)
def test_what_dir_shows_is_there(module):
    assert [name for name in dir(module) if not hasattr(module, name)] == []
    assert sorted(module.__all__) == dir(module)


def test_dir_stays_the_same_when_all_is_imported():
    program = (
        "import fluvial; before = dir(fluvial); import fluvial.cli.command_line, fluvial.launch; "
        "import xarray; fluvial.File; print(dir(fluvial) == before)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "True\n"
