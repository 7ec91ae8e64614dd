# SPDX-License-Identifier: Apache-2.0
import os
import sys
import time
from pathlib import Path

import pytest

from bench import child

ROOT = Path(child.__file__).resolve().parents[1]

SERVER = """
import os, sys, time
sys.path.insert(0, {root!r})
from bench.child import serve
def handle(command):
    if command["do"] == "add": return {{"sum": command["a"] + command["b"]}}
    if command["do"] == "cores": return {{"cores": sorted(os.sched_getaffinity(0))}}
    if command["do"] == "sleep": time.sleep(60)
    if command["do"] == "die": print("last words", flush=True); os._exit(3)
    if command["do"] == "spawn":
        import subprocess
        return {{"pid": subprocess.Popen(["sleep", "60"]).pid}}
    raise ValueError("no such thing")
serve(int(sys.argv[1]), handle)
"""


@pytest.fixture
def start(tmp_path):
    started = []

    def start_one():
        command = [sys.executable, "-c", SERVER.format(root=str(ROOT))]
        cores = {min(os.sched_getaffinity(0))}
        started.append(child.Child(command, cores=cores, log=tmp_path / "log"))
        return started[-1]

    yield start_one
    for one in started:
        one.close()


def answer(one, **command):
    one.send(command)
    return one.answer(time.monotonic() + 20)


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_answers_in_order_on_the_cores_it_was_given(start):
    one = start()
    assert answer(one, do="add", a=1, b=2) == {"sum": 3}
    assert answer(one, do="add", a=5, b=2) == {"sum": 7}
    assert answer(one, do="cores") == {"cores": [min(os.sched_getaffinity(0))]}


def test_an_exception_in_the_child_is_told_and_ends_it(start):
    one = start()
    with pytest.raises(child.ChildError, match="ValueError: no such thing"):
        answer(one, do="nonsense")
    with pytest.raises(child.ChildError, match=r"died|is gone"):
        answer(one, do="add", a=1, b=2)


def test_a_death_quotes_the_last_words(start):
    with pytest.raises(child.ChildError, match=r"(?s)died.*last words"):
        answer(start(), do="die")


def test_silence_ends_at_the_deadline(start):
    one = start()
    assert answer(one, do="add", a=0, b=0) == {"sum": 0}
    one.send({"do": "sleep"})
    begin = time.monotonic()
    with pytest.raises(child.ChildError, match="time limit"):
        child.gather([one], 0.3)
    assert time.monotonic() - begin < 5


def test_gather_answers_in_the_order_of_the_children_and_samples_meanwhile(start):
    pair = [start(), start()]
    looks = []
    for number in (1, 0):
        pair[number].send({"do": "add", "a": number, "b": 10})
    found = child.gather(pair, 20, lambda: looks.append(1))
    assert found == [{"sum": 10}, {"sum": 11}]
    assert looks


def test_close_kills_what_the_child_started_too(start):
    one = start()
    grandchild = answer(one, do="spawn")["pid"]
    assert not gone(grandchild)
    one.close()
    deadline = time.monotonic() + 5
    while not (gone(one.pid) and gone(grandchild)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(one.pid)
    assert gone(grandchild)
