# SPDX-License-Identifier: Apache-2.0
"""The scan bench's cases, files, processes and figures."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bench import plotter, sizes
from bench.scan import cases, files, once, picture, question, report
from bench.scan.contestants import CDO, ENGINE, LIMIT, PNETCDF, PYTHON, READ, XARRAY

FILE = cases.DataFile(cases.CDF5, Path("t.nc"), 16)


@pytest.mark.parametrize("steps", [8, 16, 128])
def test_the_subset_is_an_eighth_that_cuts_every_dimension(steps):
    case = cases.Case(cases.SUBSET, cases.DataFile(cases.CDF5, Path("t.nc"), steps))
    assert case.bytes * 8 == case.file.bytes
    for start, count, extent in zip(case.start, case.count, case.file.shape, strict=True):
        assert start > 0
        assert start + count < extent or steps == 8
        assert start + count <= extent


@pytest.mark.parametrize("task", cases.TASKS)
def test_a_part_of_a_case_says_how_much_it_is(task):
    whole, part = cases.Case(task, FILE), cases.Case(task, FILE, part=4)
    assert part.bytes == pytest.approx(part.share * whole.bytes)
    assert part.share == pytest.approx(1 / 4)
    assert cases.Case(task, FILE, part=1000).count[0] == 1


def test_words_tell_a_program_everything():
    words = dict(word.split("=") for word in cases.Case(cases.SUBSET, FILE).words())
    assert words["count"] == "12,16,180,480"
    assert words["swapped"] == "1"
    assert words["task"] == "summary"
    assert "chunk" not in words


GOOD = {"sum": 1e9, "min": 1.0, "max": 2.0}


def test_results_agree_to_rounding_or_not_at_all():
    case = cases.Case(cases.SUMMARY, FILE)
    cases.check(case, "it", {**GOOD, "sum": 1e9 * (1 + 1e-12)}, GOOD)
    cases.check(case, "it", {**GOOD, "sum": 1e9 * (1 + 1e-6), "tolerance": 2e-6}, GOOD)
    for wrong in ({**GOOD, "sum": 1e9 * (1 + 1e-6)}, {**GOOD, "min": 1.0000001}, {"sum": 1e9}):
        with pytest.raises(cases.DisagreementError, match="it"):
            cases.check(case, "it", wrong, GOOD)
    with pytest.raises(cases.DisagreementError, match="counts"):
        cases.check(case, "it", {"counts": [1, 2, 3]}, {"counts": [1, 2, 4]})
    with pytest.raises(cases.DisagreementError, match="steps"):
        cases.check(case, "it", {"steps": [1.0]}, {"steps": [1.0, 2.0]})


def test_files_that_have_no_room_say_how_much_is_needed(tmp_path, monkeypatch):
    usage = files.shutil.disk_usage(tmp_path)._replace(free=2**30)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(RuntimeError, match=r"1\.0 GiB free.*take 10\.3 GiB.*--folder"):
        files.provide(tmp_path, 128)


def test_a_file_is_forgotten_and_read_again(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(2**22 + 1))
    files.forget(path)
    files.warm(path)
    assert sum(files._blocks(path)) == 2**22 + 1


def test_sizes_become_whole_numbers_of_steps():
    assert files.steps_of(sizes.parse_size("4Gi")) == 128
    assert files.steps_of(sizes.parse_size("256 MiB")) == 8
    assert files.steps_of(1) == 8
    for refused in ("0", "-8", "4 apples"):
        with pytest.raises(question.typer.BadParameter, match=f"size.*{refused}"):
            sizes.parse_size(refused)


def test_the_answer_is_the_last_object_that_is_printed():
    code = "print('{\"a\": 0}'); print('noise'); print('{\"a\": 1}'); print('more noise')"
    assert once.run([sys.executable, "-c", code], 20) == {"a": 1}
    with pytest.raises(once.RunError, match=r"(?s)status 3.*last words"):
        once.run([sys.executable, "-c", "print('last words'); raise SystemExit(3)"], 20)
    with pytest.raises(once.RunError, match="printed no answer"):
        once.run([sys.executable, "-c", "print('hello')"], 20)


def test_what_takes_too_long_is_killed():
    begin = time.monotonic()
    with pytest.raises(once.RunError, match="did not end within"):
        once.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
    assert time.monotonic() - begin < 20


@pytest.fixture
def figures():
    found = report.Figures(bytes=FILE.bytes)
    case = cases.Case(cases.SUMMARY, FILE)

    def add(who, *seconds, cold=False, **more):
        for turn, value in enumerate(seconds):
            given = {"memory": [2**26, 2**25], **more}
            found.add(who, case, turn, value, given, "a setting", cold=cold)

    add(PYTHON, 1.0, 4.0, memory_before=[2**25, 2**25])
    add(ENGINE, 1.0, 1.0)
    add(LIMIT, 0.95, 3.8)
    add(PNETCDF, 6.0, 20.0)
    add(XARRAY, 30.0)
    add(CDO, 9.0)
    add(PYTHON, 1.0, cold=True, memory_before=[2**25, 2**25])
    add(READ, 0.5, cold=True)
    return found


def test_ratios_are_paired_by_round(figures):
    where = cases.SUMMARY, cases.CDF5, False
    assert figures.ratio(PYTHON, LIMIT, *where) == pytest.approx(0.95)
    assert figures.ratio(PYTHON, report.BEST_TOOL, *where) == pytest.approx(9.0)
    assert figures.best(report.BEST_TOOL, *where) == CDO
    assert figures.ratio(PYTHON, report.BEST_MPI, *where) == pytest.approx(5.5)
    assert figures.ratio(PYTHON, "nobody", *where) is None


def test_records_have_the_paired_ratio_and_the_member_of_a_best_of(figures):
    by = {(r.params["face"], r.peer, r.metric): r for r in report.records(figures)}
    best = by[PYTHON, report.BEST_TOOL, "time"]
    assert best.ratio == pytest.approx(9.0)
    assert best.params["peer is"] == CDO
    assert by[PYTHON, READ, "time, cold cache"].ratio == pytest.approx(0.5)
    assert by[PYTHON, "64 MiB", "memory of a rank"].median == pytest.approx(32.0)
    assert by[PYTHON, LIMIT, "time"].runs == 2


def test_verdicts_say_what_holds(figures):
    said = {sentence: holds for holds, sentence in report.verdicts(figures)}

    def verdict(face, words):
        return next(holds for s, holds in said.items() if s.startswith(face) and words in s)

    assert verdict(PYTHON, "limit")
    assert not verdict(PYTHON, report.BEST_TOOL)
    assert verdict(PYTHON, report.BEST_MPI)
    assert not verdict(PYTHON, "(cold)")
    assert verdict(PYTHON, "MiB")
    assert not verdict(ENGINE, "MiB")


def test_a_failure_ends_a_contestant_in_that_case_only(figures):
    case = cases.Case(cases.SUMMARY, FILE)
    assert not figures.ours_failed()
    figures.failed(PYTHON, case, "no reason")
    assert figures.ours_failed()
    assert not figures.wanted(PYTHON, case)
    assert figures.wanted(PYTHON, cases.Case(cases.STEPS, FILE))
    assert any("no reason" in note for note in figures.notes)


@pytest.mark.parametrize("drawn", [True, False])
def test_the_picture_is_drawn(tmp_path, figures, drawn):
    header = {
        "machine": {"cpu": "a CPU", "cores": 2, "caches": {}, "kernel": "6"},
        "software": {},
    }
    records = [r.__dict__ for r in report.records(figures)] if drawn else []
    plotter.draw(tmp_path / "scan.png", picture.layout(header, figures), records)
    assert (tmp_path / "scan.png").stat().st_size > 10_000


def test_tables_show_every_contestant_there(figures, capsys):
    header = {
        "machine": {"cpu": "a CPU", "cores": 2, "kernel": "6", "caches": {}, "memory_gib": 1,
                    "governor": "none", "load": 0},
        "software": {},
    }  # fmt: skip
    report.show(report.Console(width=200), figures, header)
    shown = capsys.readouterr().out
    for word in (PYTHON, LIMIT, CDO, "page cache cold", "0.95×", "9×"):
        assert word in shown
    assert np.isclose(figures.sample(PYTHON, cases.SUMMARY, cases.CDF5).median, 2.5)
