# SPDX-License-Identifier: Apache-2.0
"""The engine of ADIOS2 in `plugins/adios2`, built as its users build it."""

import fcntl
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "plugins" / "adios2"


def build(prefix: pathlib.Path) -> pathlib.Path:
    """Build the plugin beside an installed library and return its folder; once for all tests."""
    adios2 = pytest.importorskip("adios2")
    if tuple(int(part) for part in adios2.__version__.split(".")[:2]) < (2, 12):
        pytest.skip(f"the plugin needs ADIOS2 2.12, this is {adios2.__version__}")
    found = pathlib.Path(adios2.__file__).parent / "cmake" / "adios2"
    folder = prefix.parent / "adios2_engine"
    folder.mkdir(exist_ok=True)
    configure = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder]
    configure += [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DADIOS2_DIR={found}"]
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (configure, ["cmake", "--build", folder]):
            done = subprocess.run(
                [str(word) for word in command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout
    return folder


def environment(folder: pathlib.Path) -> dict[str, str]:
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"ADIOS2_PLUGIN_PATH": str(folder), "PATH": path}
