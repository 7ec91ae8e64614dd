# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every scenario may use."""

from __future__ import annotations

import os
import pathlib

import pytest
from fluvial.launch import Launcher


def pytest_report_header() -> str:
    launcher = Launcher.detect()
    return f"mpi: {launcher.mpi} ({launcher.mpiexec})"


@pytest.fixture(scope="session")
def launcher() -> Launcher:
    """Start jobs with the MPI that these tests run under."""
    return Launcher.detect()


@pytest.fixture(scope="session")
def prefix() -> pathlib.Path:
    """Where the flavour under test is installed."""
    if "FLUVIAL_PREFIX" not in os.environ:
        pytest.fail("FLUVIAL_PREFIX is not set; start the tests by ./run test")
    return pathlib.Path(os.environ["FLUVIAL_PREFIX"])
