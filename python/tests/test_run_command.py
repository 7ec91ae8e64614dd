# SPDX-License-Identifier: Apache-2.0
"""`fluvial run`: jobs that end well. Jobs that end otherwise are in test_run_command_ends.py."""

import os
import re
import subprocess
import sys

import pytest
from fluvial.launch import Launcher
from harness.fluvial_run import FluvialRun

pytestmark = pytest.mark.any_mpi

WHO = """
import os
from mpi4py import MPI
comm = MPI.COMM_WORLD
os.write(1, f"rank {comm.rank} of {comm.size}\\n".encode())  # in one piece
"""


@pytest.fixture
def run(tmp_path):
    with FluvialRun(tmp_path) as run:
        yield run


def test_ranks_of_a_python_program(run):
    run.write("who.py", WHO)
    assert run("-n", 3, "who.py").lines == ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]
    assert run("who.py").lines == ["rank 0 of 1"]
    assert run("-np", 2, "-m", "who").lines == ["rank 0 of 2", "rank 1 of 2"]


def test_jobs_side_by_side_have_a_world_each(run):
    run.write("who.py", WHO)
    found = run("-n", 2, "who.py", "+", "-n", 1, "who.py", "+", "-n2", "-m", "who")
    assert found.lines == sorted(["rank 0 of 2", "rank 1 of 2"] * 2 + ["rank 0 of 1"])


def test_programs_of_one_job_have_one_world(run):
    run.write("who.py", WHO)
    found = run("-n", 1, "who.py", ":", "-n", 2, "who.py")
    assert found.lines == ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]


def test_what_follows_the_program_is_its_own(run):
    run.write("words.py", "import sys; print(sys.argv[1:])")
    words = ["-n", "3", "--help", "a b", "", "--", "-m", "++"]
    ended = run("words.py", *words)
    assert ended.printed == f"{words}\n"
    assert ended.said == (
        "fluvial: -n after the script goes to the script: fluvial run -n 3 words.py runs it on 3 "
        "ranks\n"
    )
    assert run("-n", 2, "words.py", "-n", "3").said == run("words.py", "x", "-n", "3").said == ""
    run.write("words", '#!/bin/sh\necho "$@"\n', executable=True)
    assert run("words", "y", "-n", "x", "+", "./words", "z", "--label").lines == [
        "y -n x",
        "z --label",
    ]
    assert run("echo", "-n", "x").printed == "x"


def test_the_environment_of_a_job(run):
    show = ["sh", "-c", 'echo "$A,$B"']
    found = run("-e", "A=1", "-e", "B=x=y", *show, "+", "--env", "B=2", *show, env={"A": "0"})
    assert found.lines == ["0,2", "1,x=y"]


def test_lines_have_labels(run):
    run.write(
        "say.py",
        "import os, sys; os.write(1, b'one\\ntwo'); print('three', file=sys.stderr)\n",
    )
    found = run("--label", "-n", 2, "say.py")
    assert found.lines == [f"[{rank}] {word}" for rank in (0, 1) for word in ("one", "two")]
    assert sorted(found.said.splitlines()) == ["[0] three", "[1] three"]
    found = run("-l", "say.py", "+", "-n", 2, "say.py")
    names = "say 0", "say-2 0", "say-2 1"
    assert found.lines == sorted(f"[{name}] {word}" for name in names for word in ("one", "two"))


def test_long_output_with_labels_is_whole(run):
    run.write(
        "many.py", "import sys; sys.stdout.write(''.join(f'{i:0900}\\n' for i in range(999)))"
    )
    found = run("-l", "-n", 2, "many.py")
    for rank in (0, 1):
        mine = [line for line in found.printed.splitlines() if line.startswith(f"[{rank}] ")]
        assert mine == [f"[{rank}] {i:0900}" for i in range(999)]


def test_a_long_line_with_a_label_is_one_line_and_comes_when_it_is_whole(run):
    run.write(
        "long.py",
        "import os, time\n"
        "os.write(1, b'x' * 100_000); time.sleep(0.5); os.write(1, b'y' * 200_000 + b'\\nlast')\n"
        "time.sleep(0.5); os.write(1, b' line')\n",
    )
    long = "x" * 100_000 + "y" * 200_000
    found = run("-l", "-n", 2, "long.py")
    assert found.lines == sorted(f"[{r}] {line}" for r in (0, 1) for line in (long, "last line"))


def test_a_prompt_without_a_label_comes_at_once(run):
    process = run.start("sh", "-c", "printf 'ready? '; sleep 600")
    assert process.stdout.read(7) == "ready? "
    process.terminate()
    assert run.finish(process).code == 143


def test_labels_of_any_name(run):
    run.write("RANKS.py", "print('said')")
    run.write("-y.py", "print('said')")
    found = run("-l", "./RANKS.py", "+", "./-y.py")
    assert found.lines == ["[-y 0] said", "[RANKS 0] said"]


def test_names_that_are_no_utf8(run):
    name = os.fsdecode(b"w\xff")
    run.write(name, "#!/bin/sh\necho said\n", executable=True)
    process = run.start("-l", f"./{name}", "+", "true")
    printed, said = process.stdout.buffer.read(), process.stderr.buffer.read()
    assert (printed, said, process.wait(60)) == (b"[w\xff 0] said\n", b"", 0)


def test_the_first_rank_of_the_only_job_reads_what_is_piped(run):
    assert run("cat", typed="from a pipe\n").printed == "from a pipe\n"
    assert run("-n", 3, "cat", typed="from a pipe\n").printed == "from a pipe\n"
    assert run("cat", "+", "cat", typed="for nobody\n").printed == ""


def test_a_terminal_is_not_read(run):
    ours, theirs = os.openpty()
    process = run.start("cat", stdin=theirs)
    os.write(ours, b"typed to the shell\n")
    assert run.finish(process).printed == ""
    assert os.read(theirs, 100) == b"typed to the shell\n"
    os.close(ours)
    os.close(theirs)


def test_the_mpi_that_it_was_built_with_unless_told_otherwise(run):
    own = Launcher.detect()
    without = {"FLUVIAL_MPIEXEC": "", "PATH": "/usr/bin:/bin"}
    printed = run("--dry-run", "-n", 3, "true", env=without).printed
    words = printed.split()
    assert os.path.realpath(words[words.index("-n") - (4 if own.mpi == "openmpi" else 1)]) == (
        os.path.realpath(own.mpiexec)
    )
    run.write("who.py", WHO)
    assert run("-n", 2, "who.py", env=without).lines == ["rank 0 of 2", "rank 1 of 2"]


def test_another_mpi_is_warned_of(run):
    own = Launcher.detect()
    other = {"mpich": "openmpi", "openmpi": "mpich"}[own.mpi]
    assert run("--dry-run", "--mpi", own.mpi, "true").said == ""
    for name in (other, Launcher.of_kind(other).mpiexec):
        found = run("--dry-run", "--mpi", name, "true")
        assert re.fullmatch(rf"fluvial: \S+ belongs to {other}, this Fluvial to .*\n", found.said)
    run.write("who.py", WHO)
    assert run("--mpi", other, "-n", 2, "who.py").lines == ["rank 0 of 2", "rank 1 of 2"]


def test_a_dry_run_prints_what_does_the_same_in_a_shell(run):
    run.write("who.py", WHO)
    found = run("--dry-run", "-e", "A=b c", "-n", 3, "who.py", "+", "-n", 1, "who.py")
    first, second = found.printed.splitlines()
    assert "A='b c' " in first and "A=" not in second
    printed = subprocess.check_output(first, shell=True, cwd=run.where, text=True, timeout=60)
    assert sorted(printed.splitlines()) == ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]


def test_ranks_yield_when_there_are_more_than_cores(run):
    name = {
        "mpich": "MPIR_CVAR_CH4_PROGRESS_THROTTLE",
        "openmpi": "OMPI_MCA_mpi_yield_when_idle",
    }[Launcher.detect().mpi]
    show = ["sh", "-c", f'echo "yields: ${name}"']
    core = {min(os.sched_getaffinity(0))}
    assert run("-n", 2, *show, cores=core).lines == ["yields: 1"] * 2
    assert run("-n", 1, *show, "+", *show, cores=core).lines == ["yields: 1"] * 2
    assert run("-n", 1, *show, cores=core).lines == ["yields: "]
    assert run("-n", 2, *show, cores=core, env={name: "0"}).lines == ["yields: 0"] * 2


WRITER = """
import numpy as np
from mpi4py import MPI
import fluvial as fl
comm = MPI.COMM_WORLD
with fl.open("ramp", "w", comm=comm) as series:
    for i in range(5):
        with series.step(time=i) as step:
            step.put("x", np.full(10, i), offset=[10 * comm.rank], shape=[10 * comm.size])
"""
READER = """
from mpi4py import MPI
import fluvial as fl
with fl.open("ramp", comm=MPI.COMM_WORLD) as series:
    for step in series:
        total = step["x"].reduce("sum")
        if MPI.COMM_WORLD.rank == 0:
            print(f"{step.time:g}: {total}")
"""


def test_two_jobs_stream_to_each_other(run):
    run.write("writer.py", WRITER)
    run.write("reader.py", READER)
    found = run("-n", 2, "writer.py", "+", "-n", 1, "reader.py")
    assert found.printed == "".join(f"{i}: {20 * i}\n" for i in range(5))
    assert found.said == ""
    assert {path.name for path in run.where.iterdir()} - {"__pycache__"} == {
        "writer.py",
        "reader.py",
    }


def test_it_starts_without_xarray():
    program = (
        "import sys; sys.argv[1:] = ['run', '--dry-run', 'true']\n"
        "from fluvial.__main__ import main\n"
        "try: main()\n"
        "finally: print('xarray' in sys.modules)\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60)
    assert printed.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the program is missing"),
        (["true", "+"], "the program is missing"),
        (["true", "+", "-n", "2", ":", "true"], "the program is missing"),
        (["-n", "0", "true"], "-n is no number of ranks: got '0'; allowed: a whole number from 1"),
        (["-n", "99999999999", "true"], "a whole number from 1 to 9999999"),
        (["-n", "2.5", "true"], "got '2.5'"),
        (["-n", "-1", "true"], "got '-1'"),
        (["-n", "2", "true", "+", "-n", "many", "true"], "got 'many'"),
        (["raed.py"], "no such program: got 'raed.py'; .* Did you mean 'read.py'?"),
        (["./raed.py"], "Did you mean './read.py'?"),
        (["raed.py", "+", "read.py"], "got 'raed.py'"),
        (["mpiexce"], "got 'mpiexce'; .* Did you mean 'mpiexec'?"),
        (["plain.txt"], "got 'plain.txt', which is not executable; .*`chmod [+]x`"),
        (["-m", "raed"], "no such module: got 'raed'; .* Did you mean 'read'?"),
        (["-m", "./read.py"], "no such module: got './read.py'"),
        (["--mpi", "mpihc", "true"], "no mpiexec: got mpihc; .*allowed for --mpi: mpich, openmpi"),
        (["--timeout", "0", "true"], "--timeout is no time: got '0'; allowed: a number of seconds"),
        (["--timeout", "soon", "true"], "got 'soon'"),
        (["--timeout", "inf", "true"], "got 'inf'"),
        (["-e", "A", "true"], "--env is no variable: got 'A'; allowed: NAME=VALUE"),
        (["-e", "A B=c", "true"], "--env is no variable: got 'A B=c'; allowed: NAME=VALUE"),
        (["--check", "read.py", "+", "true"], "--check of what is no script: got 'read.py', '/"),
        (["--check", "-n", "0", "right.swift"], "-n is no number of ranks: got '0'"),
        (["--check", "right.swift", "+", "raed.py"], "no such program: got 'raed.py'"),
        (["--trace", "x.png", "read.py"], "--trace of what is no script: got 'read.py'"),
        (["--narrow", "-m", "read"], "--narrow of what is no script: got 'read'; .* .swift"),
        (["true", ":", "-e", "A=1", "true"], "--env behind ':'"),
        (["true", "+", "--dry-run", "true"], "an option behind the first program: got --dry-run"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(run, words, message):
    run.write("read.py", "print('never')")
    run.write("plain.txt", "text")
    run.write("right.swift", 'trace("right");')
    found = run(*words, code=2, env={"FLUVIAL_MPIEXEC": ""})
    assert found.printed == ""
    assert re.fullmatch(rf"fluvial: .*{message.replace('?', '[?]')}.*\n", found.said)


def test_every_script_is_checked(run):
    run.write("right.swift", 'trace("right");')
    run.write("wrong.swift", "trace(x);")
    run.write("read.py", "print('never')")
    found = run("--check", "right.swift", "+", "wrong.swift", code=2)
    assert found.printed == "" and "wrong.swift:1:7: no variable has this name" in found.said
    found = run("--check", "right.swift", ":", "read.py", "+", "right.swift")
    assert found.printed == "right.swift: nothing is wrong\n" * 2


def test_no_mpiexec_of_this_mpi(run):
    own = Launcher.detect()
    other = {"mpich": "openmpi", "openmpi": "mpich"}[own.mpi]
    missing = {"FLUVIAL_MPIEXEC": "/nowhere/mpiexec", "PATH": "/nowhere"}
    program = f"""
import sys
from fluvial import _core
_core.mpi_library = lambda: {"Open MPI v5" if other == "openmpi" else "MPICH 5"!r}
sys.prefix = "/nowhere"
sys.argv = ["fluvial", "run", "/bin/true"]
from fluvial.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | missing | {"FLUVIAL_MPIEXEC": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rf"fluvial: no mpiexec of {other}: got \S+ belongs to {own.mpi}; .*\n", done.stderr
    )
