# SPDX-License-Identifier: Apache-2.0
"""Functions of the main program share its names on each rank, as they do in the program."""

import pickle
import types

import pytest
from harness import scenario

import fluvial as fl

INITIALIZED = """
import threading

value = lock = None
cache = {}

def set_value(given):
    global value, lock
    value, lock = given, threading.Lock()
    cache["given"] = given

def found():
    with lock:
        return value, dict(cache)

class Model:
    def found(self):
        return found()
"""
COUNTING = [
    "seen = []\ndef call(x):\n seen.append(x)\n return list(seen)",
    "def call(x):\n global seen\n seen = globals().get('seen', []) + [x]\n return seen",
    "seen = []\ndef note(x):\n seen.append(x)\ndef call(x):\n note(x)\n return list(seen)",
]


def program_of(source, **known):
    """Return the names of a program that is run itself."""
    names = {"__name__": "__main__", **known}
    exec(source, names)
    return types.SimpleNamespace(**names), names


SHARED = """
import cloudpickle
from mpi4py import MPI

import fluvial as fl

class Box:
    pass

@fl.parallel
def share(comm, box):
    MPI.pickle.__init__(cloudpickle.dumps, cloudpickle.loads)
    return [type(one) is type(box) for one in comm.allgather(box)]
"""


@pytest.fixture(params=[None, 1], ids=["serial", "started"])
def pool(request):
    with fl.Pool(request.param) as made:
        yield made


def test_ranks_of_a_team_send_each_other_objects_of_the_main_program():
    program, _ = program_of(SHARED)
    with fl.Pool(2) as pool:
        shared = pool.with_options(ranks=2).submit(program.share, program.Box())
        assert shared.result() == [True, True]


@pytest.mark.parametrize("ranks", [None, 1], ids=["serial", "started"])
def test_tasks_find_what_the_initializer_has_set(ranks):
    program, _ = program_of(INITIALIZED)
    with fl.Pool(ranks, initializer=program.set_value, initargs=(7,)) as pool:
        assert pool.submit(program.found).result() == (7, {"given": 7})
        assert pool.submit(program.Model().found).result() == (7, {"given": 7})
        assert list(pool.map(program.found)) == []
        assert pool.submit(program.Model).result().found.__name__ == "found"


@scenario("job on 3 ranks", timeout=60)
class test_tasks_find_what_the_initializer_has_set_on_the_ranks_of_a_job:
    def job(comm, fl, where):
        program, _ = program_of(INITIALIZED)
        with fl.Pool(comm=comm, initializer=program.set_value, initargs=(comm.rank,)) as pool:
            if pool.leads:
                near = [pool.with_options(near=rank, strict=True) for rank in (1, 2)]
                return [one.submit(program.found).result(timeout=60) for one in near]

    def check(jobs):
        assert jobs.finish()["job"][0] == [(1, {"given": 1}), (2, {"given": 2})]


@pytest.mark.parametrize("source", COUNTING)
def test_tasks_find_what_others_have_left(pool, source):
    program, names = program_of(source)
    calls = [pool.submit(program.call, i).result() for i in range(3)]
    assert calls == [[0], [0, 1], [0, 1, 2]]
    assert list(pool.map(program.call, [3, 4], chunksize=2))[-1] == [0, 1, 2, 3, 4]
    assert names.get("seen", []) == []  # the program's own


def test_what_the_program_changes_comes_to_tasks_and_the_rest_stays(pool):
    program, names = program_of(
        "scale, seen = 1, []\ndef call(x):\n seen.append(x)\n return scale * sum(seen)"
    )
    assert pool.submit(program.call, 1).result() == 1
    names["scale"] = 10
    assert pool.submit(program.call, 1).result() == 20
    names["seen"].append(5)
    assert pool.submit(program.call, 1).result() == 60


def test_functions_that_call_each_other(pool):
    program, _ = program_of(
        "def even(n):\n return n == 0 or odd(n - 1)\ndef odd(n):\n return n > 0 and even(n - 1)"
    )
    assert [pool.submit(program.even, n).result() for n in (3, 4)] == [False, True]
    assert pool.submit(lambda called: called(5), program.odd).result()


def test_a_name_whose_value_calls_a_function_when_it_is_read(pool):
    program, _ = program_of(
        "base = 3\n"
        "def made(n):\n return n + base\n"
        "class Made:\n def __reduce__(self):\n  return made, (1,)\n"
        "value = Made()\n"
        "def call():\n return value\n"
    )
    assert pool.submit(program.call).result() == 4


def test_a_name_that_cannot_be_sent_is_an_error_of_its_task(pool):
    program, _ = program_of(INITIALIZED)
    program.set_value(1)
    failed = pool.submit(program.found)
    with pytest.raises((TypeError, pickle.PicklingError), match="lock"):
        failed.result()


def test_a_class_of_the_program_stays_its_own_where_it_comes_back(pool):
    program, names = program_of(
        "scale = 2\nclass Model:\n weight = 1\n def call(self):\n  return scale * self.weight\n"
        "def changed(model):\n type(model).weight = 5\n return model\n"
    )
    assert type(pool.submit(program.changed, program.Model()).result()) is program.Model
    names["scale"] = 3
    assert pool.submit(program.Model().call).result() == 3 * program.Model.weight
    assert program.Model().call() == 3 * program.Model.weight


def test_pools_do_not_share_names():
    program, _ = program_of(COUNTING[0])
    for _ in range(2):
        with fl.Pool() as pool:
            assert pool.submit(program.call, 1).result() == [1]
