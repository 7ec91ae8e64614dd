# SPDX-License-Identifier: Apache-2.0
"""Scripts in simulated time, by a model of how long their tasks take."""

import pathlib
import re
import subprocess
import sys

import pytest
from fluvial.swift.failures import ScriptFailed
from fluvial.swift.simulation import read_model, simulate_script

import fluvial as fl

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "16_particle_tracer"
LEAVES = '@par (float t) wide(int n) "leaves"; (int r) narrow(float t) "leaves";\n'


def simulated(script, text, ranks=5, **model):
    script.write("", "leaves.py")
    return simulate_script(script.write(text), ranks, model)


def test_figure_9_of_the_paper_at_518_ranks(figure_9, tmp_path):
    assert (EXAMPLE / "figure9.swift").read_text() == figure_9, "as it stands in the paper"
    words = ["simulate", "script", "-n", "518", "--model", "model.py", "--error", "0.3"]
    trace = tmp_path / "figure10.json"
    command = [sys.executable, "-m", "fluvial", *words, "--trace", trace, "figure9.swift"]
    ended = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True)
    pattern = re.compile(r"RESULT: bf=(\d+) np=(\d+) -> time=(\d+\.\d{3})")
    found = [pattern.fullmatch(line).groups() for line in ended.stdout.splitlines()]
    times = {(int(bf), int(np)): float(time) for bf, np, time in found}
    assert times.keys() == {(2**b, 2**n) for b in range(8) for n in range(4, 10)}
    model = read_model(str(EXAMPLE / "model.py"))
    assert all(abs(times[bf, np] - model["mpidraw"](np, bf)) < 1e-3 for bf, np in times)
    assert "simulated: 48 tasks on 517 ranks" in ended.stderr
    from fluvial.flow.timeline import Timeline

    timeline = Timeline.read(trace)
    assert len(timeline.ranks) == 517 and timeline.tasks == 48
    busy = sum(np * time for (_, np), time in times.items())
    assert timeline.busy_seconds == pytest.approx(busy, rel=1e-4)
    assert timeline.utilisation > 0.8


def test_tasks_wait_for_what_they_need_and_for_ranks(script, capsys):
    ranks = simulated(
        script,
        LEAVES
        + """
        float t = @par=4 wide(3);
        int a = narrow(t);
        int b = narrow(2.0);
        trace(t, a, b);
        """,
        wide=lambda ranks, n: (n, 10.0),
        narrow=lambda ranks, t: (1.5, int(t) + ranks),
    )
    assert capsys.readouterr().out == "trace: 10.0,11,3\n"
    assert ranks.now == 4.5 and ranks.workers == 4
    events = [tuple(e)[:2] for rank in ranks.timeline().ranks.values() for e in rank]
    assert sorted(events) == sorted([(0, 3)] * 4 + [(3, 4.5)] * 2)


def test_the_seconds_are_the_result_of_a_leaf_that_returns_a_time(script, capsys):
    simulated(script, LEAVES + "trace(wide(7));", wide=lambda ranks, n: n / 2)
    assert capsys.readouterr().out == "trace: 3.5\n"


def test_sleep_takes_its_time_and_files_are_read(script, capsys):
    script.write("x", "x.txt")
    ranks = simulated(script, 'sleep(1000) => trace(read(input("x.txt")));')
    assert capsys.readouterr().out == "trace: x\n" and ranks.now == 1000


def test_the_highest_priority_comes_first(script, capsys):
    simulated(
        script,
        LEAVES + "foreach i in [1:3] { trace(@prio=i wide(i)); }",
        ranks=2,
        wide=lambda ranks, n: (1, float(n)),
    )
    assert capsys.readouterr().out.split() == ["trace:", "3.0", "trace:", "2.0", "trace:", "1.0"]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({}, "the model has no function 'wide'"),
        ({"wied": len}, "Did you mean 'wied'?"),
        ({"wide": lambda ranks, n: -1}, "the model of wide: got -1; allowed: 0 s or more"),
        ({"wide": lambda ranks, n: float("nan")}, "got nan"),
        ({"wide": lambda ranks, n: (1, "a")}, "output 't' is no float"),
    ],
)
def test_what_a_model_lacks(script, model, says):
    with pytest.raises(ScriptFailed) as raised:
        simulated(script, LEAVES + "trace(wide(1));", **model)
    assert says in str(raised.value) and "script.swift:2:7" in str(raised.value)


def test_a_model_that_cannot_be_read(script):
    path = script.write("1 +", "model.py")
    with pytest.raises(fl.InvalidArgument, match="SyntaxError"):
        read_model(path)
    with pytest.raises(fl.InvalidArgument, match="nowhere"):
        read_model("nowhere.py")
