# SPDX-License-Identifier: Apache-2.0
"""What several tests of files read."""

import pytest
from reading_files.climate import climate, write


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A netCDF-4 file of `climate`, which no test changes."""
    return write(climate(), tmp_path_factory.mktemp("files") / "t.nc", "netcdf4")
