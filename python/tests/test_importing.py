# SPDX-License-Identifier: Apache-2.0
"""What `import fluvial` imports, and when."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "used, not_needed",
    [
        ("fluvial", ("numpy", "fluvial.flow", "fluvial.route", "fluvial.stage", "fluvial.stream")),
        ("fluvial.Channel", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stage")),
        ("fluvial.open", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stream.channel")),
        ("fluvial.Pool", ("xarray", "tomllib", "html", "fluvial.stage", "fluvial.stream")),
        ("fluvial.route", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stage.reader")),
    ],
)
def test_what_a_rank_uses_does_not_import_what_it_has_no_use_for(used, not_needed):
    program = f"import fluvial, sys; {used}; print(*sys.modules)"
    imported = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "fluvial._core" in imported
    assert not set(not_needed) & set(imported)


_COMMAND = """
import atexit, sys
atexit.register(lambda: print("imported:", *sys.modules))
from fluvial.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "info --help",
        "reduce --help",
        "ls --help",
        "plot --help",
        "pipe --help",
        "route explain --help",
        "route measure --help",
        "run --help",
        "run --dry-run true",
        "simulate script --help",
        "trace --help",
    ],
)
def test_words_that_need_no_file_import_nothing_for_files(words):
    imported = _imported_by(words.split())
    assert "fluvial.cli.command_line" in imported
    unneeded = {"numpy", "xarray", "mpi4py", "lark", "fluvial.opening", "fluvial.scan"}
    assert not unneeded & imported


def test_completion_imports_nothing_for_files():
    asked = {"_FLUVIAL_COMPLETE": "complete_bash", "COMP_WORDS": "fluvial ro", "COMP_CWORD": "1"}
    assert not {"numpy", "xarray", "mpi4py", "fluvial.scan"} & _imported_by([], "route", **asked)


def _imported_by(words, printed="", **env):
    """Return the modules that a call of the command has imported at its end."""
    command = [sys.executable, "-c", _COMMAND, *words]
    done = subprocess.run(command, env=os.environ | env, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
    return set(done.stdout.splitlines()[-1].removeprefix("imported:").split())


def test_a_word_whose_packages_are_missing_says_which_to_install(tmp_path):
    done = _without_xarray("reduce", "a.nc", "t")
    assert done.returncode == 1
    assert done.stderr.startswith("fluvial: the command needs more packages (")
    packages = "cftime h5netcdf h5py rich typer xarray"
    assert done.stderr.endswith(f"). Run: pip install {packages}\n")
    assert "Traceback" not in done.stderr
    # What a user's own file imports is no package of the command.
    (tmp_path / "model.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "a.swift").write_text('printf("a");\n')
    script = ["simulate", "script", "-n", "2", "--model", "model.py", "a.swift"]
    done = _without_xarray(*script, cwd=tmp_path)
    assert "nowhere_to_be_found" in done.stderr
    assert "pip install" not in done.stderr


_XARRAY_IS_MISSING = """
import sys
class Missing:
    def find_spec(name, path, target=None):
        if name == "xarray":
            raise ModuleNotFoundError("No module named 'xarray'", name="xarray")
sys.meta_path.insert(0, Missing)
"""


def _without_xarray(*words, cwd=None):
    command = [sys.executable, "-c", _XARRAY_IS_MISSING + _COMMAND, *words]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=60)


def test_every_public_name_is_found_and_kept():
    program = (
        "import fluvial\n"
        "for name in fluvial.__all__: assert getattr(fluvial, name) is getattr(fluvial, name)\n"
        "from fluvial import *\n"
        "print(len(fluvial.__all__) - len([name for name in fluvial.__all__ if name in globals()]))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "0\n"
