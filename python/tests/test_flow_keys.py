# SPDX-License-Identifier: Apache-2.0
"""Tasks with keys: what their keys may be, and what a later run gets of their results."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from fluvial.flow.future import Future, Outcome
from fluvial.flow.journal import Journal
from fluvial.flow.keyed import KeyedTasks, Settled
from harness import wait_until

import fluvial as fl

PROGRAM = """
import dataclasses, enum, sys, typing
import fluvial as fl

class State(enum.Enum):
    DONE = 1
    FAILED = 2

@dataclasses.dataclass
class Result:
    state: State
    value: float

class Outer:
    class Inner(enum.Flag):
        A = 1
        B = 2

    class Result:  # another one of that name
        def __init__(self):
            self.of = "outer"

class Point(typing.NamedTuple):
    x: float

def simulate(x):
    print("running", flush=True)
    return Result(State.DONE, x), (Outer.Inner.A | Outer.Inner.B, Outer.Result(), Point(x))

def judge(both):
    inner, result, point = both[1]
    return (
        both[0] == Result(State.DONE, 3.0)
        and inner == Outer.Inner.A | Outer.Inner.B
        and (isinstance(result, Outer.Result), result.of) == (True, "outer")
        and isinstance(point, Point)
    )

with fl.Pool(int(sys.argv[2]) or None, journal=sys.argv[1]) as pool:
    future = pool.with_options(key="one").submit(simulate, 3.0)
    result, inner = future.result()
    print(isinstance(result, Result), result == Result(State.DONE, 3.0), result.state is State.DONE)
    print(judge(future.result()), pool.submit(judge, future).result())
"""
LATER = """
import sys
import time
import fluvial as fl

class Result(list):
    pass

def simulate(x):
    raise AssertionError

simulate.__qualname__ = "simulate"
with fl.Pool(journal=sys.argv[1]) as pool:
    result, inner = pool.with_options(key="one").submit(simulate, 3.0).result()
    print(isinstance(result, Result), result.state.name, result.value, len(inner))
"""


def said_by(program, *arguments):
    argv = [sys.executable, "-c", program, *map(str, arguments)]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.any_mpi
@pytest.mark.parametrize("workers", [0, 1])
def test_a_later_run_has_results_of_the_classes_of_its_main_program(tmp_path, workers):
    pytest.importorskip("cloudpickle")
    journal = tmp_path / "journal"
    assert said_by(PROGRAM, journal, workers) == ["running", *["True"] * 5]
    assert said_by(PROGRAM, journal, workers) == ["True"] * 5
    assert said_by(LATER, journal) == ["False", "DONE", "3.0", "3"]


def test_a_key_that_is_another_in_each_run(tmp_path):
    with fl.Pool(journal=tmp_path / "journal") as pool:
        keyed = pool.with_options(key="run {}".format)
        with pytest.raises(fl.InvalidArgument, match=r"address of an object: got 'run <Future st"):
            keyed.submit(abs, pool.submit(abs, -1))
        with pytest.raises(fl.InvalidArgument, match="address of an object"):
            keyed.submit(callable, abs.__eq__)
        assert keyed.submit(str, "at 0x10 <").result() == "at 0x10 <"


def test_a_key_of_an_array_as_it_is_printed(tmp_path):
    many = np.arange(2000)
    with fl.Pool(journal=tmp_path / "journal") as pool:
        keyed = pool.with_options(key="sum of {}".format)
        for array in (many, np.array([1.0, 1 + 1e-12])):
            with pytest.raises(fl.InvalidArgument, match=r"an array as it is printed.* a digest"):
                keyed.submit(np.sum, array)
        assert keyed.submit(np.sum, many[:20]).result() == 190
        assert keyed.submit(np.sum, np.array([0.5, 0.25])).result() == 0.75
        by_size = pool.with_options(key=lambda array: f"sum of {len(array)}")
        assert by_size.submit(np.sum, many).result() == sum(range(2000))
        for with_repr in (repr, "sum of {!r}".format):
            with pytest.raises(fl.InvalidArgument, match="an array as it is printed"):
                pool.with_options(key=with_repr).submit(np.sum, many)


class Unprinted(np.ndarray):
    """An array that takes a minute to print."""

    def __str__(self):
        raise AssertionError("it is printed")

    __repr__ = __str__


def test_a_key_without_an_array_does_not_print_it(tmp_path):
    many = np.ones(200_000).view(Unprinted)
    with np.printoptions(threshold=sys.maxsize), fl.Pool(journal=tmp_path / "journal") as pool:
        assert pool.with_options(key="one").submit(len, many).result() == 200_000


class Result(bytearray):
    """What a weak reference may be of."""


@pytest.mark.parametrize("run", ["first", "later"])
def test_the_pool_keeps_no_result_that_the_journal_has(tmp_path, run):
    if run == "later":
        with fl.Pool(journal=tmp_path / "journal") as pool:
            pool.with_options(key="a").submit(Result, 10).result()
    with fl.Pool(journal=tmp_path / "journal") as pool:
        keyed = pool.with_options(key="a")
        future = keyed.submit(Result, 10)
        result = weakref.ref(future.result())
        del future
        pool.submit(abs, 1).result()
        wait_until(lambda: gc.collect() >= 0 and result() is None, timeout=20)
        with pytest.raises(fl.InvalidArgument, match="got 'a' a second time"):
            keyed.submit(Result, 10)


@pytest.mark.any_mpi
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("workers", [None, 1], ids=["serial", "started"])
def test_the_result_of_a_task_that_returns_one_with_keep_is_in_the_journal(
    tmp_path, workers, depth
):
    def ask(left):
        asked = fl.task(np.full, 3, 7) if left == 1 else fl.task(ask, left - 1)
        return asked.with_options(keep=left == 1)

    with fl.Pool(workers, journal=tmp_path / "journal") as pool:
        asked = pool.with_options(key="a").submit(ask, depth)
        assert asked.result().tolist() == [7, 7, 7]
        assert pool.submit(np.sum, asked).result() == 21
    journal = Journal(tmp_path / "journal")
    assert "a" in journal
    journal.close()


def test_a_result_that_does_not_fit_takes_no_other_with_it(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal")
    add = Journal.add

    def add_small(self, finished):
        if any(len(one.result) > 100 for one in finished):
            raise fl.Error("the disk is full")
        add(self, finished)

    monkeypatch.setattr(Journal, "add", add_small)
    keyed = KeyedTasks(journal)
    settled = []
    for size in (10, 1000, 20):
        future = Future(None)
        future.key = str(size)
        assert keyed.claim(future) is None
        settled.append(Settled(future, bytearray(size), Outcome(size)))
    kept = keyed.keep(settled)
    assert [one.outcome.value for one in kept] == [10, None, 20]
    assert "disk is full" in str(kept[1].outcome.error)
    assert [key in journal for key in ("10", "1000", "20")] == [True, False, True]
    keyed.close()
