# SPDX-License-Identifier: Apache-2.0
"""Scripts as `fluvial run` starts them, by several ranks."""

import pathlib
import re
import subprocess
import sys
from collections import Counter

import pytest
from fluvial.swift.compiler import run_program
from fluvial.swift.engine import Engine
from fluvial.swift.loading import load
from fluvial.swift.surroundings import Surroundings
from harness.fluvial_run import FluvialRun

from fluvial import _core

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "13_swift"


@pytest.fixture
def run(tmp_path):
    with FluvialRun(tmp_path) as run:
        yield run


def costs(lines):
    pattern = re.compile(r"RESULT: bf=(\d+) np=(\d+) -> time=(\d+\.\d{3})")
    found = [pattern.fullmatch(line).groups() for line in lines]
    return {(int(bf), int(np)): float(time) for bf, np, time in found}


@pytest.mark.any_mpi
def test_figure_9_of_the_paper_on_the_ranks_that_there_are(run, figure_9):
    run.write("figure9.swift", figure_9)
    run.write("mpidraw.py", (EXAMPLES / "mpidraw.py").read_text())
    ended = run("--narrow", "-n", 4, "figure9.swift")
    found = costs(ended.lines)
    assert found.keys() == {(2**b, 2**n) for b in range(8) for n in range(4, 10)}
    assert {found[1, np] for _, np in found} == {1.858}  # 80 particles, 20 steps; log2(6)
    assert ended.said.count("is more than there are: such tasks get 3") == 1


def test_figure_9_of_the_paper_without_that_many_ranks(run, figure_9):
    run.write("figure9.swift", figure_9)
    run.write("mpidraw.py", (EXAMPLES / "mpidraw.py").read_text())
    ended = run("-n", 2, "figure9.swift", code=1)
    assert "figure9.swift:11:25: @par=16 of mpidraw: allowed: 1 to 1" in ended.said
    assert "float t = @par=np mpidraw(bf);" in ended.said and "--narrow" in ended.said


class Recording:
    """Stands for a pool of any size: notes the tasks, and answers them at once."""

    def __init__(self):
        self.widths = Counter()

    def submit(self, function, *arguments, ranks, **options):
        self.widths[ranks] += 1
        return self

    def add_done_callback(self, call):
        call(self)

    def exception(self):
        return None

    def result(self):
        return 200 * 16 / 512


def test_figure_9_of_the_paper_on_518_ranks(script, figure_9, capsys):
    """Its tasks are those of the load that the simulator gives the scheduler at that size."""
    script.write("", "mpidraw.py")
    recording = Recording()
    program = load(script.write(figure_9), Surroundings())
    run_program(program, Engine(recording, 518 - 6))
    assert recording.widths == {2**n: 8 for n in range(4, 10)}
    assert len(capsys.readouterr().out.splitlines()) == 48
    command = ["simulate", "flow", "--ranks", "512", "--load", "sweep"]
    simulated = subprocess.check_output([sys.executable, "-m", "fluvial", *command], text=True)
    assert simulated.startswith(f"{sum(recording.widths.values())} tasks on 512 ranks")


PARALLEL = '@par (int ranks[]) together(int n) "both";\n'
BOTH = """
def together(comm, n):
    return comm.allgather(comm.rank + n)
"""


@pytest.mark.any_mpi
def test_tasks_of_one_and_of_several_ranks(run):
    run.write("both.py", BOTH)
    run.write(
        "both.swift",
        PARALLEL
        + """
        foreach n in [1:3] { trace(n, @par=n @prio=n together(10)); }
        (int r) where() "mpi4py.MPI" "" [ "<<r>> = COMM_WORLD.rank" ];
        foreach w in [1:3] { int r = @location=w where(); assertEqual(r, w); }
        printf("%i workers", turbine_workers());
        """,
    )
    assert run("-n", 4, "both.swift").lines == [
        "3 workers",
        "trace: 1,[10]",
        "trace: 2,[10,11]",
        "trace: 3,[10,11,12]",
    ]


C_LEAF = r"""
#include <mpi.h>
#include <stdint.h>
double mpidraw(MPI_Comm comm, int64_t bf) {
    double mine = (double)bf, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    return all;
}
"""


@pytest.mark.any_mpi
def test_a_parallel_leaf_in_c(run):
    run.write("mpidraw.c", C_LEAF)
    compiler = _core.mpiexec().replace("mpiexec", "mpicc")
    command = [compiler, "-shared", "-fPIC", "-o", "libmpidraw.so", "mpidraw.c"]
    subprocess.run(command, cwd=run.where, check=True)
    run.write(
        "sum.swift",
        '@par (float t) mpidraw(int bf) "mpidraw"; trace(@par=2 mpidraw(4), mpidraw(3));',
    )
    assert run("-n", 3, "sum.swift").lines == ["trace: 8.0,3.0"]


@pytest.mark.any_mpi
def test_a_rank_that_fails_ends_the_script_with_its_stack(run):
    run.write(
        "both.py",
        "def together(comm, n):\n"
        "    if comm.rank == 1:\n"
        "        raise LookupError('rank 1 has nothing')\n"
        "    return [n]\n",
    )
    run.write("both.swift", PARALLEL + "trace(@par=1 together(1));\n@par=2 together(1);\n")
    said = run("-n", 3, "both.swift", code=1).said
    assert "both.swift:3:8: together failed: LookupError: rank 1 has nothing" in said
    assert "task: together(1) on 2 ranks" in said
    assert "rank " in said and "both.py" in said


def test_a_rank_that_is_killed_ends_the_script_with_its_line(run):
    run.write(
        "leaves.py",
        "import os, signal\n"
        "def leaf(i):\n"
        "    if i == 3:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return i\n",
    )
    run.write(
        "killed.swift",
        '(int r) leaf(int i) "leaves";\nforeach i in [1:6] { int r = leaf(i); }\n',
    )
    said = run("-n", 3, "killed.swift", code=137).said
    assert "killed.swift:2:30: leaf failed: PeerLost: rank " in said
    assert "task: leaf(3) on 1 rank" in said
    assert "Traceback" not in said


def test_nothing_starts_when_something_is_wrong(run):
    run.write("wrong.swift", 'trace("before");\ntrace(x);\n')
    ended = run("-n", 2, "wrong.swift", code=2)
    assert "wrong.swift:2:7: no variable has this name: got 'x'" in ended.said
    assert ended.printed == ""
    assert run("--check", "wrong.swift", code=2).said == ended.said
    run.write("right.swift", 'trace("done", argv("n"));')
    assert run("--check", "right.swift").printed == "right.swift: nothing is wrong\n"
    assert run("right.swift", "-n=3").printed == "trace: done,3\n"
    run.write("right.py", "print('never')")
    assert "got 'right.py'; allowed: a file .swift" in run("--check", "right.py", code=2).said
    assert "Did you mean 'right.swift'?" in run("rigth.swift", code=2).said


@pytest.mark.any_mpi
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["sweep.swift", "-n=1"], {(1, 1): 4.9, (8, 1): 5.6, (1, 2): 2.6, (8, 2): 4.0}),
        (["pipeline.swift"], "200 values in results/all.txt"),
        (["search.swift"], "round 5: decay 0.700, rate 1.300, misfit 0.00000"),
    ],
)
def test_examples(run, words, printed):
    (run.where / "examples").symlink_to(EXAMPLES)
    lines = run("-n", 3, f"examples/{words[0]}", *words[1:]).lines
    if isinstance(printed, str):
        assert lines[-1] == printed
    else:
        assert costs(lines).items() >= printed.items()
