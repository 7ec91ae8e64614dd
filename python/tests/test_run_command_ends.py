# SPDX-License-Identifier: Apache-2.0
"""`fluvial run` when something ends its jobs: one sentence, an exit code, and no process left."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest
from fluvial.launch import rank_guard, supervisor
from fluvial.launch.launcher import Launcher
from harness.fluvial_run import FluvialRun
from harness.jobs import wait_until

pytestmark = pytest.mark.any_mpi

# Rank 1 ends as the word says; the others wait in MPI for it.
FAIL = """
import os, signal, sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 1:
    if sys.argv[1] == "raise":
        raise ValueError("no such crystal")
    if sys.argv[1] == "exit":
        os._exit(7)
    if sys.argv[1] == "abort":
        comm.Abort(5)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
comm.Barrier()
"""
# Each rank says that it is there, and by what it was stopped.
WAIT = """
import pathlib, sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
pathlib.Path(f"{sys.argv[1]}-{comm.rank}").touch()
try:
    time.sleep(600)
except KeyboardInterrupt:
    pathlib.Path(f"interrupted-{comm.rank}").touch()
"""
# Does not end for less than SIGKILL, nor does what it starts, in a session of its own. Each rank
# says when it has come so far.
STUBBORN = """#!/bin/sh
trap '' INT TERM HUP
setsid sleep 600 &
touch $1-${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}
while :; do sleep 0.1; done
"""


@pytest.fixture
def run(tmp_path):
    with FluvialRun(tmp_path) as run:
        run.write("fail.py", FAIL)
        run.write("wait.py", WAIT)
        run.write("stubborn", STUBBORN, executable=True)
        yield run


def wait_for(run, *names):
    wait_until(lambda: all((run.where / name).exists() for name in names), what=f"{names}")


@pytest.mark.parametrize(
    ("word", "code", "sentence"),
    [
        ("raise", 1, "(rank 1 of fail|fail) ended with exit code 1"),
        ("abort", 5, "(rank 1 of fail|fail) ended with exit code 5"),
        ("exit", 7, "rank 1 of fail ended with exit code 7"),
        ("SIGKILL", 137, r"rank 1 of fail was killed by SIGKILL \(signal 9\)"),
        ("SIGSEGV", 139, r"rank 1 of fail was killed by SIGSEGV \(signal 11\)"),
    ],
)
def test_the_code_is_that_of_the_rank_that_failed(run, word, code, sentence):
    found = run("-n", 3, "fail.py", word, code=code)
    assert re.fullmatch(f"fluvial: {sentence}", found.said.splitlines()[-1])
    assert ("ValueError: no such crystal" in found.said) == (word == "raise")
    if word in ("exit", "SIGKILL"):
        assert found.said.count("\n") == 1, "mpiexec has nothing to say"


def test_an_exit_code_of_a_program_s_own_is_told_as_no_signal(run):
    run.write("own.py", "import os; os._exit(137)")
    assert "rank 0 of own ended with exit code 137" in run("own.py", code=137).said


def test_ranks_that_mpiexec_did_not_run_are_an_error(run):
    """As where it is another program, or has printed why and ends with 0 all the same."""
    found = run("--mpi", shutil.which("true"), "-n", 3, "wait.py", "up", code=127)
    assert re.search(
        r"true has not run wait: got the ends of 0 ranks; allowed: 3\. Look at", found.said
    )


def test_outputs_that_are_closed(run):
    """The program runs; what it prints is lost."""
    run.write("touch.py", "import pathlib; print(1); pathlib.Path('touched').touch()")
    words = shlex.join([sys.executable, "-m", "fluvial", "run", "touch.py"])
    done = subprocess.run(f"{words} <&- >&- 2>&-", shell=True, cwd=run.where, check=False)
    assert done.returncode == 0
    assert (run.where / "touched").exists()


def test_what_mpiexec_says_of_a_rank_that_failed_is_no_news(run):
    """Open MPI complains, now and then, of a guard that ends a moment before the others."""
    complaining = f'#!/bin/sh\n{Launcher.detect().mpiexec} "$@"\ncode=$?\n'
    complaining += "echo a rank ended improperly >&2\nexit $code\n"
    run.write("complaining", complaining, executable=True)
    found = run("--mpi", "./complaining", "-n", 2, "fail.py", "exit", code=7)
    assert found.said == "fluvial: rank 1 of fail ended with exit code 7\n"
    assert run("--mpi", "./complaining", "true").said == "a rank ended improperly\n"


def test_a_program_without_mpi_that_fails(run):
    found = run("-n", 2, "sh", "-c", "exit 7", code=7)
    assert re.fullmatch(r"fluvial: rank [01] of sh ended with exit code 7\n", found.said)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("words", "no program", ", which begins with no #! line"),
        (
            "bad",
            "#!/nowhere/sh -e\n",
            r", whose interpreter does not exist \(.* #!/nowhere/sh -e\)",
        ),
        (os.fsdecode(b"b\xff"), "#!/nowhere/sh\n", ", whose interpreter does not exist"),
    ],
    ids=["no program", "no interpreter", "no UTF-8"],
)
def test_a_program_that_cannot_be_run(run, name, text, why):
    run.write(name, text, executable=True)
    process = run.start(f"./{name}")
    said = os.fsdecode(process.stderr.buffer.read()).splitlines()
    assert re.fullmatch(
        f"fluvial: cannot run the program: got ./{name}{why}.*; allowed: an exec.*", said[0]
    )
    assert said[1].endswith("ended with exit code 127") and len(said) == 2
    assert process.wait(60) == 127


def test_the_other_job_is_ended_too(run):
    process = run.start("wait.py", "up", "+", "-n", 2, "fail.py", "SIGKILL")
    found = run.finish(process)
    assert found.code == 137
    assert found.said.splitlines()[-1] == (
        "fluvial: rank 1 of fail was killed by SIGKILL (signal 9); all jobs are ended"
    )


def test_the_other_job_goes_on_when_told_to(run):
    slow = ["sh", "-c", "sleep 6; echo done"]
    found = run("--keep-going", "-n", 2, "fail.py", "exit", "+", *slow, code=7)
    assert found.printed.endswith("done\n")  # behind what MPICH may say of the job that failed
    assert found.said == "fluvial: rank 1 of fail ended with exit code 7\n"


def test_each_job_that_fails_is_told_when_the_others_go_on(run):
    second = ["sh", "-c", "sleep 1; exit 4"]
    found = run("--keep-going", "sh", "-c", "exit 3", "+", *second, "+", "true", code=3)
    assert found.said.splitlines() == [
        "fluvial: rank 0 of sh ended with exit code 3",
        "fluvial: rank 0 of sh-2 ended with exit code 4",
    ]


def test_the_time_limit(run):
    found = run("--timeout", "1.5", "-n", 2, "sleep", "600", "+", "true", code=124)
    assert re.fullmatch(
        r"fluvial: timed out after 1.5 s; still running: rank 0 of sleep \(process \d+\), "
        r"rank 1 of sleep \(process \d+\); all jobs are ended\n",
        found.said,
    )


def test_the_time_limit_shows_where_python_hangs(run):
    run.write("hang.py", "import time\ntime.sleep(600)")
    assert "hang.py" in run("--timeout", 3, "hang.py", code=124).said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_reaches_every_rank_and_ends_all(run, number):
    process = run.start("-n", 2, "wait.py", "one", "+", "wait.py", "two")
    wait_for(run, "one-0", "one-1", "two-0")
    process.send_signal(number)
    found = run.finish(process)
    assert found.code == 128 + number
    assert found.said.splitlines()[-1] == f"fluvial: stopped by {number.name}; all jobs are ended"
    if number == signal.SIGINT:
        assert {path.name for path in run.where.glob("interrupted-*")} >= {"interrupted-0"}


def test_a_second_stop_does_not_wait(run):
    process = run.start("-n", 2, "./stubborn", "up")
    wait_for(run, "up-0", "up-1")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert run.finish(process, timeout=3).code == 130  # the grace is 5 s


def test_what_does_not_stop_is_killed(run):
    process = run.start("./stubborn", "up")
    wait_for(run, "up-0")
    process.send_signal(signal.SIGTERM)
    assert run.finish(process).code == 143


def test_a_stop_before_the_ranks_are_there(run):
    process = run.start("-n", 2, "wait.py", "up")
    run.one_of("supervisor.py")
    process.send_signal(signal.SIGTERM)
    assert run.finish(process).code == 143


def test_a_stop_of_guards_that_begin_is_told_once(run):
    """Nothing that a guard does not hear of yet may kill it: mpiexec would have a lot to say."""
    for _ in range(3):
        process = run.start("-n", 4, "sleep", "600")
        wait_until(lambda: guards_of(run), what="a guard")
        process.send_signal(signal.SIGINT)
        found = run.finish(process)
        assert (found.code, found.printed) == (130, "")
        assert found.said == "fluvial: stopped by SIGINT\n"


def guards_of(run):
    lines = [line.split() for line in run.processes().values()]
    return [words for words in lines if words[3:4] == [rank_guard.__file__]]


def test_a_rank_that_somebody_kills(run):
    process = run.start("-n", 2, "wait.py", "up", "+", "./stubborn", "also")
    wait_for(run, "up-0", "up-1", "also-0")
    os.kill(run.one_of("python_program.py wait.py", without="rank_guard"), signal.SIGKILL)
    found = run.finish(process)
    assert found.code == 137
    assert re.search(r"fluvial: rank [01] of wait was killed by SIGKILL", found.said)


@pytest.mark.parametrize("who", ["supervisor.py", "mpiexec", "rank_guard.py"])
def test_a_process_between_that_somebody_kills(run, who):
    process = run.start("-n", 2, "./stubborn", "up", "+", "-n", 1, "wait.py", "other")
    wait_for(run, "up-0", "up-1", "other-0")
    lines = {p: line for p, line in run.processes().items() if "stubborn" in line}
    first = {
        "supervisor.py": lambda line: "-S" in line and "supervisor.py" in line,
        "mpiexec": lambda line: "mpiexec" in line.split()[0] and "proxy" not in line.split()[0],
        "rank_guard.py": lambda line: line.split()[3:4] and "rank_guard.py" in line.split()[3],
    }[who]
    os.kill(next(p for p, line in lines.items() if first(line)), signal.SIGKILL)
    found = run.finish(process)
    assert found.code not in (0, None)
    subject = {
        "supervisor.py": "the supervisor of stubborn was killed by SIGKILL",
        "mpiexec": "stubborn was killed by SIGKILL",
        "rank_guard.py": "the guard of rank [01] of stubborn was killed by SIGKILL",
    }[who]
    assert re.search(f"^fluvial: {subject}", found.said, flags=re.M)


def test_a_reader_of_the_output_that_goes_away(run):
    process = run.start("-n", 2, "yes", "+", "wait.py", "other")
    assert process.stdout.readline() == "y\n"
    process.stdout.close()
    assert process.wait(60) == 1
    run.wait_until_all_are_gone()


def test_nothing_outlives_the_command(run):
    process = run.start("-n", 2, "./stubborn", "up", "+", "wait.py", "other")
    wait_for(run, "up-0", "up-1", "other-0")
    process.kill()
    process.wait()
    run.wait_until_all_are_gone()


def test_nothing_outlives_the_command_and_its_supervisors(run):
    process = run.start("-n", 2, "wait.py", "up", "+", "wait.py", "other")
    wait_for(run, "up-0", "up-1", "other-0")
    supervisors = [
        p for p, line in run.processes().items() if line.split()[3:4] == [supervisor.__file__]
    ]
    assert len(supervisors) == 2
    for pid in (process.pid, *supervisors):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    run.wait_until_all_are_gone()


WRITER = """
import sys, time
import numpy as np
from mpi4py import MPI
import fluvial as fl
comm = MPI.COMM_WORLD
with fl.open("ramp", "w", comm=comm) as series:
    for i in range(int(sys.argv[1])):
        with series.step(time=i) as step:
            step.put("x", np.full(10, i), offset=[10 * comm.rank], shape=[10 * comm.size])
        time.sleep(0.01)
"""
READER = """
import pathlib
from mpi4py import MPI
import fluvial as fl
with fl.open("ramp", comm=MPI.COMM_WORLD) as series:
    for step in series:
        step["x"].reduce("sum")
        pathlib.Path("reads").touch()
print("read all")
"""


@pytest.mark.parametrize("victim", ["writer.py 10000", "reader.py"])
def test_a_rank_of_a_stream_that_is_killed(run, victim):
    """Both jobs end; the same stream is opened again where the dead one was."""
    run.write("writer.py", WRITER)
    run.write("reader.py", READER)
    process = run.start("-n", 2, "writer.py", 10000, "+", "-n", 2, "reader.py")
    wait_for(run, "reads")
    os.kill(run.one_of(f"python_program.py {victim}", without="rank_guard"), signal.SIGKILL)
    found = run.finish(process)
    assert found.code == 137
    name = victim.partition(".")[0]
    assert re.search(
        rf"^fluvial: rank [01] of {name} was killed by SIGKILL \(signal 9\); all jobs are ended$",
        found.said,
        flags=re.M,
    )
    assert "read all" not in found.printed
    assert list(run.where.glob("*.fluvial")) == []
    again = run("-n", 2, "writer.py", 5, "+", "-n", 2, "reader.py")
    assert again.lines == ["read all", "read all"]
    assert list(run.where.glob("*.fluvial")) == []
