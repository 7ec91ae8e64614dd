# SPDX-License-Identifier: Apache-2.0
"""Several threads on one series, file or channel; in processes of their own, which may crash."""

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import os, pathlib, signal, sys, threading, time
import numpy as np
import fluvial as fl

where = pathlib.Path(sys.argv[1])

class Thread(threading.Thread):
    def __init__(self, work, *arguments):
        super().__init__()
        self.work, self.arguments, self.error = work, arguments, None
        self.start()

    def run(self):
        try:
            self.result = self.work(*self.arguments)
        except BaseException as error:
            self.error = error

    def said(self):
        self.join()
        return None if self.error is None else (type(self.error).__name__, str(self.error))

def is_closed(said):
    return said[0] == "InvalidArgument" and "closed by another thread" in said[1]

def pair(**options):
    writer = fl.open("q", "w", readers=0, directory=where, **options)
    return writer, fl.open("q", directory=where)

def put(writer, value, size=1000):
    with writer.step() as step:
        step.put("x", np.full(size, value))
"""


def run(tmp_path, program, times=1):
    for turn in range(times):
        where = tmp_path / str(turn)
        where.mkdir()
        ended = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", BEGIN + textwrap.dedent(program), where],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 0, ended.stdout[-3000:]


def test_a_reader_is_closed_while_another_thread_waits_in_next(tmp_path):
    run(
        tmp_path,
        """
        writer, reader = pair()
        waiting = Thread(reader.next)
        time.sleep(0.1)
        reader.close()
        assert is_closed(waiting.said()), waiting.said()
        writer.close()
        """,
    )


@pytest.mark.parametrize("call", ["read", "reduce", "local reduce"])
def test_a_reader_is_closed_while_others_read(tmp_path, call):
    """Data that was read stays valid, and reading more is an error."""
    work = {
        "read": "[::2]",
        "reduce": ".reduce('sum')",
        "local reduce": ".reduce('sum', local=True)",
    }
    run(
        tmp_path,
        f"""
        writer, size = fl.open("q", "w", readers=0, directory=where), 200_000
        for turn in range(10):
            reader = fl.open("q", directory=where, start="next")
            with writer.step() as step:  # two chunks, so that reads gather them
                for part in range(2):
                    step.put("x", np.ones(size), (part * size,), (2 * size,))
            step = reader.next()
            kept = []
            def work():
                while True:
                    kept.append(step["x"]{work[call]})
                    assert kept[-1].sum() in (size, 2 * size)
                    del kept[:-10]
            threads = [Thread(work) for _ in range(3)]
            while len(kept) < 3:
                time.sleep(0.001)
            reader.close()
            for thread in threads:
                kind, text = thread.said()
                assert kind == "InvalidArgument" and ("ended" in text or "closed" in text), text
            assert {{float(array.sum()) for array in kept}} <= {{size, 2.0 * size}}
        writer.close()
        """,
    )


@pytest.mark.parametrize("end", ["writer.close()", "writer.__exit__(OSError, OSError(), None)"])
@pytest.mark.parametrize("call", ["step", "put"])
def test_a_writer_is_closed_while_another_thread_waits_for_room(tmp_path, call, end):
    run(
        tmp_path,
        f"""
        writer, reader = pair(queue_steps={1 if call == "step" else 4}, queue_bytes=10_000)
        put(writer, 1.0)
        waiting = Thread(put, writer, 2.0)
        time.sleep(0.1)
        {end}
        assert is_closed(waiting.said()), waiting.said()
        assert reader.next()["x"][0] == 1
        assert writer.stats["steps_written"] == 1
        reader.close()
        """,
    )


def test_threads_put_into_one_step(tmp_path):
    """A thousand steps with four threads: each element arrives as it was put."""
    run(
        tmp_path,
        """
        writer, reader = pair()
        steps, threads, size = 300, 4, 2500
        begun = threading.Barrier(threads + 1, timeout=30)
        done = threading.Barrier(threads + 1, timeout=30)
        def work(rank):
            for index in range(steps):
                begun.wait()
                where = (rank * size,)
                step.put("x", np.full(size, index), where, (threads * size,), {"unit": rank})
                step.put(f"y{rank}-{index % 5}", np.full(10, rank))
                span = step.span(f"z{rank}", "float64", (size,))
                span[:] = index
                writer.stats
                done.wait()
        workers = [Thread(work, rank) for rank in range(threads)]
        def read():
            for step in reader:
                assert (step["x"].read() == step.index).all()
                for rank in range(threads):
                    assert (step[f"y{rank}-{step.index % 5}"].read() == rank).all()
                    assert (step[f"z{rank}"].read() == step.index).all()
            return reader.stats["steps_read"]
        reading = Thread(read)
        for index in range(steps):
            with writer.step() as step:
                begun.wait()
                done.wait()
        writer.close()
        assert [worker.said() for worker in workers] == [None] * threads
        assert reading.said() is None, reading.said()
        assert reading.result == steps
        """,
    )


def test_a_signal_handler_that_closes_is_told_why_it_cannot(tmp_path):
    """It is inside of the call that close() would wait for."""
    run(
        tmp_path,
        """
        writer, reader = pair()
        signal.signal(signal.SIGUSR1, lambda *_: reader.close())
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        try:
            reader.next()
            sys.exit("no error")
        except fl.InvalidArgument as error:
            assert "inside of one of its calls" in str(error), error
        put(writer, 1.0)
        assert reader.next()["x"][0] == 1
        reader.close()
        writer.close()
        """,
    )


def test_a_file_is_closed_while_others_use_it(tmp_path):
    """Each call ends with its result or with InvalidArgument."""
    run(
        tmp_path,
        """
        import h5py
        path = str(where / "a.h5")
        with h5py.File(path, "w") as file:
            for name in "abcdef":
                file[name] = np.arange(10_000.0)
        for turn in range(20):
            file = fl.open(path)
            turns = []
            def work(rank):
                while True:
                    name = "abcdef"[(rank + len(turns)) % 6]
                    assert file[name].reduce("sum", threads=1) == 49_995_000
                    assert file[name][5:7].sum() == 11
                    assert file[name].coords == {}
                    turns.append(rank)
            threads = [Thread(work, rank) for rank in range(3)]
            while len(turns) < turn:
                time.sleep(0.001)
            file.close()
            for thread in threads:
                kind, text = thread.said()
                assert kind == "InvalidArgument" and "closed" in text, (kind, text)
        """,
    )


def test_a_file_that_is_closed_during_a_look_up(tmp_path):
    """The look-up ends with the dataset that it had found."""
    run(
        tmp_path,
        """
        path = str(where / "a.bin")
        np.arange(1000.0).tofile(path)
        file = fl.open(path, raw={"dtype": "f8", "shape": (1000,)})
        files = file._files
        files.parts_of("data")
        class Closing(dict):
            def __contains__(self, name):
                found = super().__contains__(name)
                file.close()
                return found
        files._datasets = Closing(files._datasets)
        assert files.parts_of("data")[0].shape == (1000,)
        try:
            file["data"]
            sys.exit("no error")
        except fl.InvalidArgument as error:
            assert "closed" in str(error)
        """,
    )


def test_several_threads_wait_for_one_scan(tmp_path):
    run(
        tmp_path,
        """
        path = str(where / "a.bin")
        np.arange(1000.0).tofile(path)
        file = fl.open(path, raw={"dtype": "f8", "shape": (1000,)})
        def slow(x):
            time.sleep(0.1)
            return x >= 0
        pending = file["data"].where(slow).start("sum")
        threads = [Thread(pending.wait) for _ in range(4)]
        while not pending.test():
            assert 0 <= pending.progress <= 1
            time.sleep(0.01)
        assert [t.said() for t in threads] == [None] * 4
        assert {float(t.result) for t in threads} == {499_500.0}
        """,
    )


@pytest.mark.parametrize(
    "call", ["channel.close()", "stream.send(np.ones(1))", "stream.result()", "channel.stream('b')"]
)
def test_a_channel_in_use_by_another_thread_is_an_error(tmp_path, call):
    """And does no harm to the thread that uses it."""
    run(
        tmp_path,
        f"""
        channel = fl.Channel(None, producer=True, consumer=True)
        inside, over = threading.Event(), threading.Event()
        def work(batch):
            inside.set()
            assert over.wait(30)
        stream = channel.stream("a", op=work)
        def use():
            stream.send(np.ones(3))
            stream.terminate()
            stream.operate()
            channel.close()
        using = Thread(use)
        assert inside.wait(30)
        try:
            {call}
            sys.exit("no error")
        except fl.InvalidArgument as error:
            assert "two threads use one channel" in str(error), error
        over.set()
        assert using.said() is None, using.said()
        """,
    )
