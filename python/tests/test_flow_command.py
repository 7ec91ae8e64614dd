# SPDX-License-Identifier: Apache-2.0
"""Programs as tasks of a pool."""

import os
import signal
import subprocess
import sys
import time

import pytest
from fluvial.launch import Launcher
from harness import scenario, wait_until

import fluvial as fl

RANKS = "from mpi4py import MPI; n = MPI.COMM_WORLD.allreduce(1); print('ranks %d\\n' % n, end='')"


@pytest.fixture
def pool():
    with fl.Pool() as made:
        yield made


def run(pool, *arguments, **options):
    return pool.submit(fl.command, *arguments, **options).result(timeout=60)


def test_outputs_and_exit_codes(pool):
    done = run(pool, ["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert run(pool, ["cat"], input="über").stdout == "über"
    assert run(pool, ["cat"], input=b"\xff\0", text=False).stdout == b"\xff\0"
    assert run(pool, ["cat"]).stdout == ""
    number = pool.submit(abs, -7)
    assert run(pool, ["expr", number, "+", 1]).stdout == "8\n"
    with pytest.raises(fl.CommandFailed) as raised:
        run(pool, ["sh", "-c", "seq 100; echo the cause >&2; exit 5"])
    assert (raised.value.returncode, raised.value.stderr) == (5, "the cause\n")
    assert "got exit code 5" in str(raised.value)
    assert str(raised.value).endswith("It printed last:\nthe cause")
    assert isinstance(raised.value, fl.Error)
    assert isinstance(raised.value, subprocess.CalledProcessError)
    with pytest.raises(fl.CommandFailed, match=r"signal 9[^$]*\$\$[^$]*last:\n91\n(\d+\n)*100$"):
        run(pool, ["sh", "-c", "seq 100; kill -9 $$"])
    with pytest.raises(fl.CommandFailed, match="It printed nothing"):
        run(pool, ["false"])


def test_input_is_taken_as_late_as_the_program_wants(pool):
    long = "x" * 1_000_000
    assert run(pool, ["sh", "-c", "sleep 0.5; wc -c"], input=long).stdout.strip() == "1000000"
    assert run(pool, ["true"], input=long).stdout == ""
    assert run(pool, ["head", "-c", "3"], input=long).stdout == "xxx"


def test_files_and_folders(pool, tmp_path):
    files = {"in/data": b"\x01\x02", "list": "a\nb\n"}
    done = run(pool, ["sh", "-c", "cat in/data list > all; pwd"], files=files, outputs=["all"])
    assert done.files == {"all": b"\x01\x02a\nb\n"}
    assert not os.path.exists(done.stdout.strip())
    run(pool, ["sh", "-c", "cat list; echo no >&2"], cwd=tmp_path, files={"list": "a"}, stdout="o")
    assert (tmp_path / "o").read_text() == "a"
    assert (tmp_path / "list").read_text() == "a"
    with pytest.raises(fl.CommandFailed, match=r"last:\nno$"):
        run(pool, ["sh", "-c", "echo no >&2; false"], stderr=tmp_path / "errors")
    assert (tmp_path / "errors").read_text() == "no\n"
    with pytest.raises(fl.NoSuchFile, match="asked for: got 'all'"):
        run(pool, ["true"], outputs=["all"])
    with pytest.raises(fl.InvalidArgument, match=r"got '\.\./up'; allowed: names below"):
        run(pool, ["true"], files={"../up": ""})
    with pytest.raises(fl.NoSuchFile, match="no program to run: got 'no-such-program'"):
        run(pool, ["no-such-program"])
    with pytest.raises(fl.NoSuchFile, match=r"got '\./none', which is not there"):
        run(pool, ["./none"])
    with pytest.raises(fl.NoSuchFile, match=r"got '\./own', which may not be executed.*chmod"):
        run(pool, ["./own"], files={"own": "#!/bin/sh"})
    with pytest.raises(fl.NoSuchFile, match="no folder to run a program in"):
        run(pool, ["true"], cwd=tmp_path / "nowhere")
    with pytest.raises(fl.InvalidArgument, match="got no words"):
        run(pool, [])


def test_the_environment(pool, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setenv("OMPI_MCA_btl", "self")
    monkeypatch.setenv("REMOVED", "1")
    done = run(pool, ["env"], env={"ADDED": "yes", "REMOVED": None})
    lines = done.stdout.splitlines()
    assert "ADDED=yes" in lines
    assert "OMPI_MCA_btl=self" in lines
    assert not [line for line in lines if line.startswith(("PMI_", "REMOVED"))]


def test_a_time_limit_ends_all_processes(pool, tmp_path):
    script = f"echo begun; setsid sleep 1000 & echo $! > {tmp_path}/pid; wait"
    with pytest.raises(fl.TimedOut, match=r"up to 0\.5 s\. It printed last:\nbegun"):
        run(pool, ["sh", "-c", script], timeout=0.5)
    sleeper = int((tmp_path / "pid").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{sleeper}"), timeout=10, what="the end of it")


@scenario("job on 3 ranks", timeout=90)
class test_programs_that_use_mpi:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if not pool.leads:
                return None
            alone = pool.submit(fl.command, [sys.executable, "-c", RANKS])
            launcher = Launcher.detect()
            words = launcher.command(2, [sys.executable, "-c", RANKS])
            two = pool.submit(fl.command, words, env=launcher.environment())
            return alone.result().stdout, two.result().stdout

    def check(jobs):
        alone, two = jobs.finish()["job"][0]
        assert alone == "ranks 1\n"
        assert two == "ranks 2\n" * 2


@pytest.mark.any_mpi
def test_no_program_outlives_its_rank(tmp_path):
    pool = fl.Pool(1)
    pool.submit(fl.command, ["sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000"])
    wait_until(lambda: (tmp_path / "pid").exists(), timeout=60, what="the program")
    time.sleep(0.05)
    program = int((tmp_path / "pid").read_text())
    victim = pool._core._job.pids()[1]
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(fl.PeerLost):
        pool.shutdown()
    wait_until(lambda: not os.path.exists(f"/proc/{program}"), timeout=10, what="the end of it")


def test_two_outputs_have_one_file(pool, tmp_path):
    words = ["sh", "-c", "echo a long line of results; echo err >&2; echo more"]
    run(pool, words, cwd=tmp_path, stdout="log", stderr=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "a long line of results\nerr\nmore\n"


def test_an_output_in_the_folder_that_is_removed_has_to_be_asked_for(pool, tmp_path):
    words = ["sh", "-c", "echo said; echo made > made"]
    with pytest.raises(fl.InvalidArgument, match=r"stdout is a file in a folder .* got 'log'"):
        run(pool, words, stdout="log", outputs=["made"])
    with pytest.raises(fl.InvalidArgument, match=r"stderr is a file in a folder .* got 'log'"):
        run(pool, words, stderr="log", files={"input": ""})
    done = run(pool, words, stdout="./log", outputs=["made", "log"])
    assert done.files == {"made": b"made\n", "log": b"said\n"}
    run(pool, words, stdout=tmp_path / "log", outputs=["made"])
    assert (tmp_path / "log").read_text() == "said\n"


def test_an_exit_code_that_no_signal_has(pool):
    with pytest.raises(fl.CommandFailed, match="ended with an error: got exit code 255"):
        run(pool, ["sh", "-c", "exit 255"])


@pytest.mark.parametrize("first_line", ["", "#!/no/such/interpreter\n"])
def test_a_program_that_cannot_be_executed(pool, tmp_path, first_line):
    program = tmp_path / "program"
    program.write_text(first_line + "echo here\n")
    program.chmod(0o755)
    with pytest.raises(fl.CommandFailed, match=r"(?s)127.*cannot run the pro") as raised:
        run(pool, [program])
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"": "x"}, r"got '' \(Is a directory\)"),
        ({".": "x"}, r"got '\.' \(Is a directory\)"),
        ({"a": "x", "a/b": "y"}, "got 'a/b'.*none of which is a folder of another"),
        ({"a" * 300: "x"}, "File name too long"),
        ({"a\0b": "x"}, "no NUL in it"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(pool, files, said):
    with pytest.raises(fl.Error, match=said):
        run(pool, ["true"], files=files)


def test_names_of_variables(pool):
    for name in ("A=B", ""):
        with pytest.raises(fl.InvalidArgument, match=f"a name in env: got '{name}'.*without '='"):
            run(pool, ["true"], env={name: "1"})


def test_an_output_that_has_no_end_is_not_read(pool):
    with pytest.raises(fl.CommandFailed, match="It printed nothing"):
        run(pool, ["false"], stdout="/dev/full")


@pytest.mark.parametrize("program", ["mkfifo", "mkdir"])
def test_what_is_no_file_is_not_read(pool, program):
    with pytest.raises(fl.NoSuchFile, match=r"got 'o' of .*no file, but a folder, a pipe"):
        run(pool, [program, "o"], outputs=["o"])


@pytest.mark.parametrize("words", [["x" * 100] * 30_000, ["x" * 300_000]])
def test_words_that_are_too_long(pool, words):
    with pytest.raises(fl.InvalidArgument, match=r"too long: got 3\d* bytes in \d+ words.*a file"):
        run(pool, ["echo", *words])
