# SPDX-License-Identifier: Apache-2.0
"""Each call is of what was given at that moment, and ends whatever happens around it."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from harness import wait_until

import fluvial as fl


class Model:
    weight = 1

    def __call__(self, value):
        return self.weight * value


class Collecting:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)
        return list(self.items)


class CountsWriting:
    """What goes with a function, and counts how often it is written."""

    written = 0

    def __reduce__(self):
        type(self).written += 1
        return list, ((1, 2, 3),)


class AlwaysEqual:
    def __init__(self, name):
        self.name = name

    def __call__(self):
        return self.name

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class EndsTheReader:
    def __reduce__(self):
        return sys.exit, (3,)


class ReadAsTextError(Exception):
    def __reduce__(self):
        return str, ("x",)


def add(first, second):
    return first + second


def give(value):
    return value


def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def resident_after(values):
    return resident_mib() + 0 * len(values)


def raise_no_error():
    raise ReadAsTextError("lost")


def function_of_main(source, **known):
    """Return what a program that is run itself has defined."""
    module = {"__name__": "__main__", **known}
    exec(source, module)
    return types.SimpleNamespace(**module), module


@pytest.fixture(params=[None, 1], ids=["serial", "started"])
def pool(request):
    with fl.Pool(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def started():
    with fl.Pool(1) as made:
        yield made


def test_objects_travel_as_they_are_at_each_call(pool):
    model = Model()
    assert pool.submit(model, 1).result() == 1
    model.weight = 2
    assert pool.submit(model, 1).result() == 2
    values = np.zeros(2)
    call = functools.partial(add, values)
    assert pool.submit(call, 1).result().tolist() == [1, 1]
    values += 5
    assert pool.submit(call, 1).result().tolist() == [6, 6]
    assert [pool.submit(AlwaysEqual(name)).result() for name in "ab"] == ["a", "b"]


@pytest.mark.parametrize("chunksize", [1, 4])
def test_the_calls_of_a_map_have_a_function_that_is_written_once(pool, chunksize):
    """Of the moment of the call of map, also where its calls are made later."""
    counts = CountsWriting()

    def weighted(value, *, kept=[counts]):  # noqa: B006
        return len(kept[0]) * value

    CountsWriting.written = 0
    assert list(pool.map(weighted, range(20), chunksize=chunksize)) == list(range(0, 60, 3))
    assert CountsWriting.written == 1
    model = Model()
    results = pool.map(model, range(20), buffersize=2, chunksize=chunksize)
    model.weight = 5
    assert list(results) == list(range(20))
    assert list(pool.starmap(model, [(3,)])) == [15]


def test_a_map_of_a_parallel_function_of_the_program(pool):
    scale = 7

    @fl.parallel
    def wide(comm, value):
        return comm.size * scale * value

    wide_pool = pool.with_options(ranks=pool.workers)
    assert list(wide_pool.map(wide, range(4))) == [pool.workers * 7 * n for n in range(4)]


def test_a_map_of_what_cannot_be_written_says_so_at_each_call(pool):
    lock = threading.Lock()
    results = pool.map(lambda value: (lock, value), range(2))
    with pytest.raises(TypeError, match="pickle"):
        next(results)


def test_a_call_does_not_see_what_another_changed_in_its_object(pool):
    collecting = Collecting()
    assert [pool.submit(collecting.add, i).result() for i in range(3)] == [[0], [1], [2]]
    assert list(pool.map(collecting.add, range(2))) == [[0], [1]]
    assert collecting.items == []


@pytest.mark.parametrize(
    "source",
    [
        "def scaled(x):\n return scale * x",
        "def scaled(x):\n return (lambda: scale * x)()",
        "def inner():\n return scale\ndef scaled(x):\n return inner() * x",
    ],
)
def test_functions_of_the_main_program_see_its_names_as_they_are(pool, source):
    program, names = function_of_main(source, scale=2)
    assert pool.submit(program.scaled, 10).result() == 20
    names["scale"] = 3
    assert pool.submit(program.scaled, 10).result() == 30


def test_a_closure_travels_as_it_is_at_each_call(pool):
    scale = 2

    def scaled(x):
        return scale * x

    assert pool.submit(scaled, 10).result() == 20
    scale = 3
    assert pool.submit(scaled, 10).result() == 30


def appending():
    seen = []

    def append(value):
        seen.append(value)
        return list(seen)

    return append


def test_a_call_does_not_see_what_another_changed_in_a_closure(pool):
    append = appending()
    assert [pool.submit(append, i).result() for i in range(3)] == [[0], [1], [2]]


def test_a_call_does_not_see_what_another_changed_in_the_default_of_an_argument(pool):
    program, _ = function_of_main("def call(x, seen=[]):\n seen.append(x)\n return seen")
    assert [pool.submit(program.call, i).result() for i in range(3)] == [[0], [1], [2]]


def test_a_wrapped_function_that_its_name_does_not_lead_to_is_sent_as_it_is(pool):
    factor = 2

    @functools.wraps(give)
    def scaled(value):
        return factor * value

    assert pool.submit(scaled, 10).result() == 20
    factor = 3
    assert pool.submit(scaled, 10).result() == 30


def test_what_functions_carry_does_not_stay_on_the_ranks(started):
    begin = started.submit(resident_mib).result()
    for number in range(20):
        call = functools.partial(resident_after, np.ones(1_000_000) + number)
        end = started.submit(call).result()
    assert end - begin < 60  # of 160 that were sent


def test_a_second_shutdown_writes_into_nobodys_file(tmp_path):
    pool = fl.Pool(1)
    assert pool.submit(pow, 2, 3).result() == 8
    pool.shutdown()
    files = [(tmp_path / f"data{number}").open("wb") for number in range(16)]
    pool.shutdown()
    with pool:
        pass
    for file in files:
        file.close()
        assert os.path.getsize(file.name) == 0


class Broken(BaseException):
    pass


def test_a_reply_that_was_not_waited_for_is_no_other_requests(started):
    kept = started.with_options(keep=True)
    first, second = kept.submit(give, "A"), kept.submit(give, "B")
    started.submit(give, 1).result()
    busy = started.submit(time.sleep, 2)
    wait_until(busy.running)

    def break_off(*_):
        raise Broken

    before = signal.signal(signal.SIGALRM, break_off)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Broken):
            first.result()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    busy.result()
    assert (second.result(), first.result()) == ("B", "A")


def test_a_wait_for_a_kept_result_keeps_nobody_from_asking(started):
    kept = [started.with_options(keep=True).submit(give, number) for number in range(2)]
    started.submit(give, 0).result()
    busy = started.submit(time.sleep, 3)
    wait_until(busy.running)
    waiting = started.submit(time.sleep, 0)
    thread = threading.Thread(target=kept[0].result)
    thread.start()
    with pytest.raises(TimeoutError):
        kept[1].result(0.2)
    assert waiting.cancel()
    assert not busy.done()
    busy.result()
    thread.join()


def test_a_kept_result_after_the_end_is_an_error_that_says_so():
    pool = fl.Pool(1)
    kept = pool.with_options(keep=True).submit(give, 1)
    pool.shutdown()
    with pytest.raises(fl.Error, match="pool that was shut down; allowed: result\\(\\) before"):
        kept.result()


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_initializer_that_exits_ends_the_pool(ranks):
    with pytest.raises(fl.PeerLost), fl.Pool(ranks, initializer=sys.exit, initargs=(0,)) as pool:
        pool.submit(pow, 2, 3).result(60)


def test_results_that_cannot_be_read_end_their_futures(started):
    with pytest.raises(SystemExit):
        started.submit(EndsTheReader).result(20)
    with pytest.raises(RuntimeError, match="ReadAsTextError: lost"):
        started.submit(raise_no_error).result(20)
    assert started.submit(give, 1).result(20) == 1


def test_keys_of_tasks_that_tasks_ask_for_have_their_keywords(tmp_path):
    with fl.Pool(journal=tmp_path / "journal") as pool:
        task = functools.partial(fl.task, give, value=3)
        assert pool.submit(_with_key, task).result() == 3
    with fl.Pool(journal=tmp_path / "journal") as pool:
        again = pool.with_options(key="value 3").submit(give, 5)
        assert again.result() == 3


def _with_key(task):
    return task().with_options(key="value {value}".format)


def test_thousands_of_futures_are_inputs_of_one_task(pool):
    futures = [pool.submit(give, number) for number in range(2000)]
    assert pool.submit(sum, futures).result() == sum(range(2000))


def test_programs_that_tasks_start_find_nothing_to_read(started):
    ran = started.submit(subprocess.run, ["cat"], capture_output=True, timeout=20)
    assert ran.result().stdout == b""
    assert started.submit(os.readlink, "/proc/self/fd/0").result() == "/dev/null"


def test_a_folder_too_deep_for_a_socket_is_no_obstacle(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with fl.Pool(1) as pool:
        assert pool.submit(abs, -3).result() == 3
        assert os.listdir(deep) == []
