# SPDX-License-Identifier: Apache-2.0
"""What several tests of files read, and how tests run the command line."""

import sys

import pytest
from fluvial.cli import command_line as cli
from reading_files.climate import climate, write


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A netCDF-4 file of `climate`, which no test changes."""
    return write(climate(), tmp_path_factory.mktemp("files") / "t.nc", "netcdf4")


@pytest.fixture
def call(monkeypatch, capsys):
    """Return a function that runs the command in this process: exit code, output, errors."""

    def called(*words):
        words = [str(word) for word in words]
        monkeypatch.setattr(sys, "argv", ["fluvial", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return called
