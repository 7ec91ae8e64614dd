# SPDX-License-Identifier: Apache-2.0
"""How examples are built and run."""

import pathlib
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def build(prefix, tmp_path):
    """Return a function that builds the CMake project of an example with the installed library."""

    def built(example):
        for command in (
            [
                "-G",
                "Ninja",
                "-S",
                EXAMPLES / example,
                "-B",
                tmp_path / "b",
                f"-DCMAKE_PREFIX_PATH={prefix}",
            ],
            ["--build", tmp_path / "b"],
        ):
            result = subprocess.run(
                ["cmake", *command], capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, result.stdout + result.stderr
        return tmp_path / "b"

    return built
