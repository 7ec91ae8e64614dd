# SPDX-License-Identifier: Apache-2.0
"""fork() while series and scans are open: the child's calls affect no other process."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from faults.traces import stream_name
from harness import wait_until

import fluvial as fl

BEGIN = """
import gc, multiprocessing, os, pathlib, signal, subprocess, sys, time
import numpy as np
import fluvial as fl

where, name = pathlib.Path(sys.argv[1]), sys.argv[2]

def put(series, index):
    with series.step() as step:
        step.put("x", np.full(1000, index))

def forked(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(7)
    return child

def code_of(child, limit=30):
    until = time.monotonic() + limit
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(found[1])
"""


@pytest.fixture
def name(tmp_path):
    return stream_name(tmp_path)


@contextlib.contextmanager
def started(tmp_path, name, program):
    """A process that runs `program` behind BEGIN; killed at the end."""
    path = tmp_path / "program.py"  # a file, which multiprocessing's spawn runs again
    path.write_text(BEGIN + textwrap.dedent(program))
    process = subprocess.Popen(
        [sys.executable, "-u", path, tmp_path, name],  # or a child prints again what it inherits
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def said_by(tmp_path, name, program, limit=60):
    with started(tmp_path, name, program) as process:
        said = process.communicate(timeout=limit)[0]
        assert process.returncode == 0, said
        return said.strip()


ENDS = {
    "os._exit": (0, "os._exit(0)"),
    "exits": (0, "sys.exit(0)"),
    "closes": (7, "series.close()"),
    "leaves the block": (3, "with series: sys.exit(3)"),
    "leaves the step": (3, "with step: sys.exit(3)"),
    "collects": (7, "global series, step; del series, step; gc.collect()"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_child_of_the_writer_ends_nothing(tmp_path, name, end):
    """However the child ends, at once and without a message, the reader gets all of 30 steps."""
    code, work = ENDS[end]
    program = f"""
        series = fl.open(name, "w", directory=where)
        def work():
            {work}
        for index in range(30):
            step = series.step()
            step.put("x", np.full(1000, index))
            if index == 5:
                print(code_of(forked(work)))
            step.__exit__(None, None, None)
        series.close()
    """
    with started(tmp_path, name, program) as process:
        with fl.open(name, directory=tmp_path, step_timeout=40) as reader:
            seen = [int(step["x"].read()[0]) for step in reader]
        said = process.communicate(timeout=30)[0]
    assert said.strip() == str(code)
    assert process.returncode == 0
    assert seen == list(range(30))


def test_a_child_of_the_reader_ends_nothing(tmp_path, name):
    """Neither by closing, nor by dropping a view whose memory its parent looks at."""
    program = """
        writer = fl.open(name, "w", readers=0, directory=where)
        series = fl.open(name, directory=where)
        put(writer, 1)
        view = series.next()["x"].read()
        def close():
            series.close()
        def exit():
            sys.exit(3)
        def collect():
            global series, view
            del series, view
            gc.collect()
        print(code_of(forked(close)), code_of(forked(exit)), code_of(forked(collect)))
        for index in range(2, 5):
            put(writer, index)
            print(series.next()["x"].read()[0], view.sum())
        series.close()
        writer.close()
    """
    said = said_by(tmp_path, name, program)
    assert said.splitlines() == ["7 3 7", "2 1000", "3 1000", "4 1000"]


def test_a_child_that_uses_what_it_inherited_is_told_so(tmp_path, name):
    program = """
        writer = fl.open(name, "w", readers=0, directory=where)
        series = fl.open(name, directory=where)
        put(writer, 1)
        dataset = series.next()["x"]
        step = writer.step()
        uses = [
            lambda: writer.step(), lambda: writer.stats, lambda: step.put("x", np.ones(1)),
            lambda: step.span("x", "float64", (1,)), lambda: step.__exit__(None, None, None),
            lambda: series.next(), lambda: series.stats, lambda: series.attrs,
            lambda: dataset.read(), lambda: dataset.reduce("sum"),
            lambda: dataset.reduce("sum", local=True),
        ]
        def use():
            for work in uses:
                try:
                    work()
                    os._exit(8)
                except fl.InvalidArgument as error:
                    assert "belongs to another process" in str(error), error
                    assert f"process {os.getppid()}, which opened it" in str(error), error
        print(code_of(forked(use)))
        step.put("x", np.ones(1))
        step.__exit__(None, None, None)
        print(series.next()["x"].read()[0], writer.stats["steps_written"])
        writer.close()
        series.close()
    """
    assert said_by(tmp_path, name, program).split() == ["7", "1.0", "2"]


def test_a_child_that_outlives_a_killed_writer_does_not_stand_in_for_it(tmp_path, name):
    """Readers are told of the death at once, and the contact file is stale."""
    program = """
        series = fl.open(name, "w", directory=where)
        for index in range(5):
            put(series, index)
        print(forked(lambda: time.sleep(600)), flush=True)
        time.sleep(600)
    """
    with started(tmp_path, name, program) as process:
        with fl.open(name, directory=tmp_path, step_timeout=40, stall_timeout=20) as reader:
            assert [next(iter(reader)).index for _ in range(5)] == list(range(5))
            child = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            begin = time.monotonic()
            with pytest.raises(fl.PeerLost, match=f"process {process.pid}. died") as caught:
                reader.next()
            assert type(caught.value) is fl.PeerLost
            assert time.monotonic() - begin < 10  # looked after ten times a second
        with pytest.raises(fl.StaleContact):
            fl.open(name, directory=tmp_path)
        assert pathlib.Path(f"/proc/{child}").exists()


def test_a_child_that_outlives_a_killed_reader_does_not_hold_its_place(tmp_path, name):
    program = """
        series = fl.open(name, directory=where)
        view = series.next()["x"].read()
        print(forked(lambda: time.sleep(600)), flush=True)
        time.sleep(600)
    """
    with (
        fl.open(
            *(name, "w"), readers=0, directory=tmp_path, queue_steps=1, on_stalled_reader="wait"
        ) as writer,
        started(tmp_path, name, program) as process,
    ):
        wait_until(lambda: writer.stats["readers"] == 1, timeout=30)
        with writer.step() as step:
            step.put("x", np.ones(1000))
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for _ in range(3):
            with writer.step() as step:
                step.put("x", np.ones(1000))
        assert writer.stats["readers_lost"] == 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_while_a_series_is_open(tmp_path, name, method):
    """A pool before and after the opening, used in each step."""
    program = f"""
        def square(x):
            return x * x

        if __name__ == "__main__":
            multiprocessing.set_start_method({method!r})
            before = multiprocessing.Pool(1)
            series = fl.open(name, "w", readers=0, directory=where, queue_steps=40)
            after = multiprocessing.Pool(1)
            with fl.open(name, directory=where) as reader:
                for index in range(10):
                    with series.step() as step:
                        found = after.map(square, [index]) + before.map(square, [2])
                        step.put("x", np.array(found))
                after.terminate() if index % 2 else after.close()
                after.join()
                before.close()
                before.join()
                series.close()
                seen = [step["x"].read().tolist() for step in reader]
                print(seen == [[i * i, 4] for i in range(10)])
    """
    assert said_by(tmp_path, name, program) == "True"


def test_subprocess_while_a_series_is_open(tmp_path, name):
    """Also by fork and exec: nothing of ours is open in the other program."""
    program = """
        series = fl.open(name, "w", readers=0, directory=where)
        listing = ["ls", "-l", "/proc/self/fd"]
        for options in {}, {"close_fds": False}, {"preexec_fn": lambda: None, "close_fds": False}:
            said = subprocess.check_output(listing, text=True, **options)
            assert "pipe" in said and "fluvial" not in said and "socket" not in said, said
        with fl.open(name, directory=where) as reader:
            put(series, 3)
            print(reader.next()["x"].read()[0])
        series.close()
    """
    assert said_by(tmp_path, name, program) == "3"


def test_a_child_has_series_of_its_own(tmp_path, name):
    """It reads what its parent writes, and writes itself."""
    program = """
        series = fl.open(name, "w", readers=0, directory=where)
        back, word = os.pipe()
        def work():
            with fl.open(name, directory=where) as reader, fl.open(
                name + "-back", "w", directory=where
            ) as answers:
                os.write(word, b"!")
                for step in reader:
                    put(answers, 2 * step["x"].read()[0])
        child = forked(work)
        answers = fl.open(name + "-back", directory=where)
        os.read(back, 1)
        for index in range(5):
            put(series, index)
        series.close()
        print([int(step["x"].read()[0]) for step in answers], code_of(child))
    """
    assert said_by(tmp_path, name, program) == "[0, 2, 4, 6, 8] 7"


def test_a_child_of_a_scan_that_runs(tmp_path, name):
    """Its threads are not in the child, which does not wait for them; files are read there, too."""
    program = """
        import h5py, threading
        path = str(where / "data.h5")
        with h5py.File(path, "w") as file:
            file["x"] = np.arange(1e6)
            file.create_dataset("by_library", data=np.arange(100000), chunks=(1000,), scaleoffset=0)
        file = fl.open(path)
        assert file["by_library"].layout["kind"] == "by library"
        def slow(x):
            time.sleep(0.05)
            return x >= 0
        pending = file["x"].where(slow).start("sum", buffer="64 KiB", threads=2)
        def wait():
            try:
                pending.wait()
            except fl.InvalidArgument as error:
                assert "belongs to another process" in str(error)
                sys.exit(3)
        def drop():
            global pending
            del pending
            gc.collect()
        print(code_of(forked(wait)), code_of(forked(drop)), code_of(forked(lambda: sys.exit(4))))
        file["by_library"].read()  # the first one imports, under locks that a child keeps
        stop = False
        def read():
            while not stop:
                file["by_library"].read()
        thread = threading.Thread(target=read)
        thread.start()
        codes = {code_of(forked(lambda: file["by_library"].read())) for _ in range(8)}
        stop = True
        thread.join()
        print(codes, float(pending.wait()) == 1e6 * (1e6 - 1) / 2)
    """
    pytest.importorskip("h5py")
    assert said_by(tmp_path, name, program).splitlines() == ["3 7 4", "{7} True"]


@pytest.mark.parametrize("file", ["run.h5", "run%T.h5", "run.nc", "run.nc4", "run.zarr", "run.bp"])
def test_a_child_writes_nothing_into_its_parents_files(tmp_path, name, file):
    """It would put its steps where the parent's belong; its end is not that of the series."""
    pytest.importorskip({"run.zarr": "zarr", "run.bp": "adios2"}.get(file, "h5py"))
    program = f"""
        path = str(where / {file!r})
        def refused(work):
            def run():
                try:
                    work()
                except fl.InvalidArgument as error:
                    sys.exit(3 if "belongs to another process" in str(error) else 4)
            return run
        def fail():
            try:
                with series:
                    raise KeyError("of the child")
            except KeyError:
                sys.exit(6)
        with fl.open(path, "w") as series:
            put(series, 0)
            print("3", code_of(forked(series.close)), code_of(forked(lambda: sys.exit(5))))
            print(code_of(forked(refused(lambda: put(series, 9)))), code_of(forked(fail)))
            put(series, 1)
            step = series.step()
            step.put("x", np.full(1000, 2))
            print(code_of(forked(refused(lambda: step.__exit__(None, None, None)))))
            step.__exit__(None, None, None)
            put(series, 3)
        with fl.open(path) as series:
            print([float(step["x"].mean()) for step in series])
    """
    with started(tmp_path, name, program) as process:
        said = process.communicate(timeout=60)[0]
    # What a library prints that sees a child end is its own.
    lines = [line for line in said.splitlines() if line.startswith(("3", "["))]
    assert lines == ["3 7 5", "3 6", "3", "[0.0, 1.0, 2.0, 3.0]"], said
