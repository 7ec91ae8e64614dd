# SPDX-License-Identifier: Apache-2.0
import io

import pytest
from rich.console import Console

from demo.launch import PHYSICS_WRONG, conclude, heating_of, parse_ranks


@pytest.mark.parametrize(
    ("ranks", "readers", "expected"),
    [("2", 0, (2, 2)), ("3", 1, (3, 1)), ("2,5", 0, (2, 5)), ("2,5", 5, (2, 5)), ("1", 0, (1, 1))],
)
def test_ranks(ranks, readers, expected):
    assert parse_ranks(ranks, readers) == expected


@pytest.mark.parametrize(
    ("ranks", "readers"),
    [("", 0), ("0", 0), ("2,0", 0), ("-1", 0), ("a", 0), ("1,2,3", 0), ("2,3", 4), ("2", -1)],
)
def test_wrong_ranks_are_refused(ranks, readers):
    with pytest.raises(ValueError, match="ranks"):
        parse_ranks(ranks, readers)


@pytest.mark.parametrize("steps", [300, 301, 500, 1200, 1234, 10_000])
@pytest.mark.parametrize("short", [True, False])
def test_steps_become_whole_outputs(steps, short):
    heating = heating_of(steps, short)
    assert steps <= heating.steps < steps + heating.every
    assert 40 <= heating.outputs <= 200


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="299"):
        heating_of(299, False)


@pytest.mark.parametrize("melts", [True, False])
def test_the_exit_code_tells_whether_the_physics_is_right(
    tmp_path, plan, record, comparison, melts
):
    if not melts:
        record.peaks[:] = record.peaks[0]
    for name in ("stream.npz", "files.npz"):
        record.save(tmp_path / name)
    console = Console(file=io.StringIO(), width=140)
    assert conclude(plan, comparison, tmp_path, console) == (0 if melts else PHYSICS_WRONG)
    printed = console.file.getvalue()
    assert printed.startswith("The first scattering pattern was there 1.2 s after the start;")
    assert ("✗" in printed) == (not melts)
    assert str(tmp_path / "report.html") in printed
    assert (tmp_path / "report.html").exists()
