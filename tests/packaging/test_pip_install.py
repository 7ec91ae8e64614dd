# SPDX-License-Identifier: Apache-2.0
"""`pip install .` into a fresh environment, with the MPI that FindMPI finds."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import fluvial as fl

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Beside the builds of ./run, so that ccache knows by its relative paths what they have compiled.
BUILD = ROOT / ".build" / "pip"
WRITE_AND_READ = """
import numpy, fluvial, sys
assert fluvial.__file__.startswith(sys.prefix), fluvial.__file__
assert fluvial.reduce("sum", numpy.arange(10.0)) == 45.0
from importlib.metadata import entry_points
assert "fluvial" in entry_points(group="xarray.backends").names
print(fluvial.__version__)
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)  # it builds all again where ccache knows nothing
def test_pip_install(tmp_path):
    shutil.rmtree(BUILD, ignore_errors=True)
    # Build tools and MPI are those of the running environment, so that nothing is downloaded twice.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    python = tmp_path / "v" / "bin" / "python"
    site = pathlib.Path(
        subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    (site / "build_tools.pth").write_text(sysconfig.get_path("purelib"))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    installed = subprocess.run(
        [
            *(python, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index"),
            *(
                "--disable-pip-version-check",
                "--config-settings",
                f"build-dir={BUILD}",
                ROOT,
            ),
        ],
        # The compilers by the names that CMake finds, so that ccache knows what ./run has built.
        env={"CC": "cc", "CXX": "c++", "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
        | {"CCACHE_SLOPPINESS": "locale"}
        | env
        | {"PATH": f"{pathlib.Path(sys.executable).parent}:{env['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stdout
    files = {path.name for path in (site / "fluvial").iterdir()}
    assert {"__init__.py", "py.typed", "_core.pyi"} <= files
    modules = {
        path.relative_to(ROOT / "python") for path in (ROOT / "python" / "fluvial").rglob("*.py")
    }
    assert modules == {path.relative_to(site) for path in (site / "fluvial").rglob("*.py")}
    assert not any((tmp_path / "v" / "lib").glob("*.a")), "the wheel holds the Python package only"
    shown = subprocess.run(
        [python, "-c", WRITE_AND_READ],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (0, f"{fl.__version__}\n"), shown.stderr
