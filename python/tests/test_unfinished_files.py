# SPDX-License-Identifier: Apache-2.0
"""Files whose disk is full or whose writer is killed: an error in time, and whole steps alone."""

import os
import subprocess
import sys

import pytest
from harness.unlucky_writers import killed_in_the_third_step, refused_by_a_full_disk

import fluvial as fl


@pytest.mark.parametrize(
    ("file", "options", "named"),
    [("data%T.h5", {}, "data1.h5"), ("run.h5", {"file_per": "host"}, "run.h5.host0")],
)
def test_a_full_disk_is_an_error_and_no_signal(tmp_path, file, options, named):
    path = str(tmp_path / file)
    printed = refused_by_a_full_disk(path, **options)
    assert printed.count("refused: ") == 1 and "File too large" in printed
    assert named in printed
    with fl.open(path) as series:
        assert [(step.index, step["x"].sum()) for step in series] == [(0, 1000), (2, 1000)]


def test_a_killed_writer_leaves_only_whole_steps(tmp_path):
    killed_in_the_third_step(tmp_path / "data%T.h5")
    left = ["data%T.h5.writing", "data0.h5", "data1.h5", "data2.h5.part"]
    assert sorted(os.listdir(tmp_path)) == left
    with fl.open(str(tmp_path / "data%T.h5")) as series:
        assert [int(step["x"].max()) for step in series] == [0, 1]


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"file_per": "host"}])
@pytest.mark.parametrize("where", ["_finish", "_write_parts"])
def test_a_killed_writer_of_one_file_leaves_only_whole_steps(tmp_path, where, options):
    """Of the step that was laid out and not written nothing is seen, least of all zeros."""
    path = tmp_path / "a.h5"
    killed_in_the_third_step(path, before=where, name="meshes/x", first=1, length=1000, **options)
    with fl.open(tmp_path / "a.h5") as series:
        assert [int(step["meshes/x"].min()) for step in series] == [1, 2]


@pytest.mark.parametrize(
    "put",
    [
        "for i in range(20): step.put(f'x{i}', np.ones(1))",
        "step.put('x', values, attrs={'axisLabels': ['x']})",
    ],
    ids=["metadata", "coordinate"],
)
def test_a_full_disk_under_zarr_is_an_error_that_names_the_folder(tmp_path, put):
    program = f"""
import resource, signal
import numpy as np, fluvial as fl, xarray as xr
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
values = np.random.default_rng(1).random(1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))  # as a disk of that size
try:
    with fl.open({str(tmp_path / "a.zarr")!r}, "w") as series, series.step() as step:
        {put}
except OSError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert "a.zarr' cannot be written: got File too large; allowed: a folder" in done.stdout
