# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be followed as joined ones: they do not fit, or steps would change."""

import netCDF4
import numpy as np
import pytest
from harness.history_files import check, follow_history, write, write_old

import fluvial as fl


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    write(tmp_path / "his_0.nc", [0])
    (tmp_path / "his_1.nc").write_bytes(b"CDF")
    with follow_history(tmp_path, step_timeout=1) as series:
        check(series.next(), 0)
        with pytest.raises(fl.TimedOut, match=r"no step came from .* 1 s of waiting \(.*his_1\.nc"):
            series.next()
        write(tmp_path / "his_2.nc", [2])
        steps = iter(series)
        check(next(steps), 0)
        with pytest.raises(fl.InvalidArgument, match=r"format of '.*his_1\.nc' is unknown"):
            next(steps)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length": 6}, r"got \(x: 6\) of 'x'; allowed: \(x: 5\), as in '.*his_0\.nc'"),
        ({"dtype": "f4"}, "float32 of 'v'"),
        ({"name": "w"}, "got datasets .*'w'"),
        ({"units": "m"}, "the files store 'time' differently: got units = 'm'"),
    ],
)
def test_a_file_that_does_not_join_is_refused_by_name(tmp_path, options, said):
    write_old(tmp_path / "his_0.nc", [0, 1])
    write_old(tmp_path / "his_1.nc", [2, 3], **options)
    with follow_history(tmp_path) as series:
        steps = iter(series)
        check(next(steps), 0)
        check(next(steps), 1)
        refused = r"his_1\.nc' does not join the files before it.*" + said
        with pytest.raises(fl.InvalidArgument, match=refused):
            next(steps)


def test_files_of_another_grid_are_refused(tmp_path):
    write(tmp_path / "his_0.nc", [0])
    write(tmp_path / "his_1.nc", [1])
    with netCDF4.Dataset(tmp_path / "his_1.nc", "a") as file:
        file["x"][:] = np.arange(5) + 100
    with (
        follow_history(tmp_path) as series,
        pytest.raises(fl.InvalidArgument, match=r"'x'.*his_1\.nc"),
    ):
        list(series)


def test_a_restart_that_writes_times_again_is_warned_of(tmp_path):
    write(tmp_path / "his_0.nc", [0, 1, 2])
    write(tmp_path / "his_1.nc", [2, 3])
    (tmp_path / "done").touch()
    with (
        follow_history(tmp_path) as series,
        pytest.warns(UserWarning, match="not in order along 'time'"),
    ):
        assert [float(step["v"].max()) for step in series] == [0, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: (path / "his_3.nc").unlink(), r"his_3\.nc' has disappeared"),
        (lambda path: write(path / "his_10.nc", [9]), r"his_10\.nc' is sorted before .*his_4\.nc'"),
        (lambda path: write(path / "his_4.nc", []), r"his_4\.nc' has fewer records"),
        (lambda path: write(path / "his_3.nc", [0, 1, 2]), r"his_3\.nc' was changed .*got 3"),
    ],
)
def test_what_would_give_steps_other_numbers_is_an_error(tmp_path, change, said):
    write_old(tmp_path / "his_3.nc", [0, 1])
    write_old(tmp_path / "his_4.nc", [2, 3, 4])
    with follow_history(tmp_path) as series:
        steps = iter(series)
        for number in range(4):
            check(next(steps), number)
        change(tmp_path)
        with pytest.raises(fl.InvalidArgument, match=said):
            list(steps)


def test_what_is_not_joined_is_refused(tmp_path):
    with fl.open(tmp_path / "run_0.h5", "w") as series, series.step() as step:
        step.put("v", np.zeros(3))
    with (
        follow_history(tmp_path, "run_*.h5") as series,
        pytest.raises(fl.InvalidArgument, match=r"openPMD or BP are not joined: got '.*run_0\.h5'"),
    ):
        series.next()
    for name, options in (([tmp_path / "a.nc"], {}), ("r*.bin", {"raw": {"dtype": "f8"}})):
        with pytest.raises(fl.InvalidArgument, match="this cannot be followed: got"):
            fl.open(name, follow=True, **options)
