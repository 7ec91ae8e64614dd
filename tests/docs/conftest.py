# SPDX-License-Identifier: Apache-2.0
"""How examples are built and run."""

import pathlib
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def build(prefix, tmp_path_factory):
    """Return a function that builds the CMake project of an example, once, with the library."""
    folders = {}

    def built(example):
        if example not in folders:
            folder = tmp_path_factory.mktemp(example) / "b"
            configure = ["-G", "Ninja", "-S", EXAMPLES / example, "-B", folder]
            for command in ([*configure, f"-DCMAKE_PREFIX_PATH={prefix}"], ["--build", folder]):
                result = subprocess.run(
                    ["cmake", *command], capture_output=True, text=True, check=False
                )
                assert result.returncode == 0, result.stdout + result.stderr
            folders[example] = folder
        return folders[example]

    return built
