# SPDX-License-Identifier: Apache-2.0
import io
import re

import pytest
from rich.console import Console

from demo.live_view import LiveView, PlainView


def output(step, **more):
    return {"event": "output", "step": step, **more}


def analysed(step, peak):
    s = [0.1] * 70 + [peak] + [0.1] * 70
    figures = {"time": 0.01 * step, "temperature": 120.0, "peaks": [peak], "latency": 0.0123}
    return output(step, s=s, q_last=4.1, lag=2, **figures)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_view_shows_the_figures_and_keeps_to_the_width(plan, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    view = LiveView(plan, console)
    view.phase("simulation → stream → analysis", ["simulation", "analysis"])
    view.event("simulation", output(120, bytes=3_000_000, queue=3))
    view.event("analysis", analysed(100, 1800.0))
    console.print(view)
    shown = console.file.getvalue()
    assert all(len(line) <= width for line in shown.splitlines())
    for text in ("step 120 of 500", "step 100 of 500", "3.0 MB", "queue 3 steps", "12 ms"):
        assert text in shown
    assert "reader's lag 2 steps" in shown or "lag" in shown
    assert re.search(r"first result after \d+\.\d s", shown)
    assert "120 K" in shown and "S = 1,800.0" in shown and "(111)" in shown


def test_the_first_result_is_one_of_the_analysis(plan):
    console = Console(file=io.StringIO(), width=100)
    view = LiveView(plan, console)
    view.phase("files", ["simulation"])
    view.event("simulation", output(10))
    console.print(view)
    assert "first result" not in console.file.getvalue(), "the simulation's outputs are none"


def test_a_job_that_has_said_nothing_is_starting(plan):
    console = Console(file=io.StringIO(), width=100)
    view = LiveView(plan, console)
    view.phase("files", ["simulation"])
    console.print(view)
    assert "starting" in console.file.getvalue() and "2 ranks" in console.file.getvalue()


def test_the_plain_view_prints_a_line_each_interval(plan):
    console = Console(file=io.StringIO(), width=100)
    view = PlainView(plan, console, interval=3600)
    view.phase("through files", ["analysis"])
    view.event("analysis", {"event": "ready"})
    for step in (10, 20, 30):
        view.event("analysis", analysed(step, 5.0))
    title, first, line = console.file.getvalue().splitlines()
    assert title == "through files"
    assert re.fullmatch(r"  first result after \d+\.\d s", first), "at once, and only once"
    assert "step     10 of 500" in line and "120.0 K" in line
