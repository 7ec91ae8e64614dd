# SPDX-License-Identifier: Apache-2.0
"""The machinery of a stage contest with a contestant that is a named pipe, sound or ill."""

import os
import sys
import time
from pathlib import Path

import pytest

from bench import native
from bench.child import ChildError
from bench.stage.pair import Contestant, Pair, run_again_once

CONTESTANT = """
import os, struct, time
import numpy as np

class Writer:
    def __init__(self, folder, stream, count, settings):
        mark = folder / "was-ill"
        self.ill, self.seen = None if mark.exists() else settings.get("ill"), 0
        mark.touch()
        path = folder / stream
        try: os.mkfifo(path)
        except FileExistsError: pass
        self.file = open(path, "wb")
    def write(self, body, stamp):
        body[0] = stamp()
        data = body.copy()
        self.seen += 1
        if self.ill == "damage" and self.seen == 5: data[-1] += 1
        if self.ill == "hang" and self.seen == 5: time.sleep(60)
        if self.ill == "lose" and self.seen == 5: return
        if self.ill == "die": os._exit(9)
        self.file.write(data.tobytes())
        self.file.flush()
    def close(self): self.file.close()

class Reader:
    def __init__(self, folder, stream, count, settings):
        self.bytes = count * 8
        path = folder / stream
        try: os.mkfifo(path)
        except FileExistsError: pass
        self.file = open(path, "rb")
    def __iter__(self):
        while data := self.file.read(self.bytes):
            yield np.frombuffer(data)
    def close(self): self.file.close()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return native.build(tmp_path_factory.mktemp("native"))


@pytest.fixture
def make_pair(tmp_path, library):
    (tmp_path / "through_pipe.py").write_text(CONTESTANT)
    core = frozenset([min(os.sched_getaffinity(0))])
    made = []

    def make(**settings):
        contestant = Contestant(
            "a pipe", "through_pipe", settings, Path(sys.executable), {"PYTHONPATH": str(tmp_path)}
        )
        made.append(Pair(contestant, (core, core), tmp_path, library, 4))
        return made[-1]

    yield make
    for pair in made:
        pair.close()


@pytest.mark.parametrize("size", [8, 4096, 2**20])
def test_a_run_counts_what_it_timed(make_pair, size):
    run = make_pair().run(size, 0.0, 0.0, 7, 30.0)
    assert run.steps == 7
    assert len(run.latencies_s) == 5
    assert 0 < min(run.latencies_s) < run.seconds + 1
    assert run.bytes_per_s == pytest.approx(size * run.steps_per_s)
    assert run.steps_per_s == pytest.approx(7 / run.seconds)


def test_a_run_lasts_about_as_long_as_asked(make_pair):
    pair = make_pair()
    run = pair.run(1024, 0.03, 0.05, 1, 30.0)
    assert 0.02 < run.seconds < 5  # how many steps that is, is known from a few of them
    assert run.steps > 20
    assert len(run.latencies_s) > 20
    again = pair.run(1024, 0.0, 0.0, 3, 30.0)
    assert again.steps == 3


def test_memory_is_sampled_only_when_asked(make_pair):
    pair = make_pair()
    plain = pair.run(2**24, 0.0, 0.0, 2, 30.0)
    assert (plain.memory_writer, plain.memory_reader) == (0, 0)
    sampled = pair.run(2**24, 0.0, 0.0, 2, 30.0, hold_s=0.2, measure_memory=True)
    assert sampled.memory_writer > 2**24
    assert sampled.memory_reader > 2**20


@pytest.mark.parametrize(
    ("ill", "complaint"),
    [("damage", "damaged"), ("lose", "time limit|ended|read"), ("die", "died"), ("hang", "limit")],
)
def test_an_ill_contestant_is_an_error_in_time_and_the_next_run_starts_anew(
    make_pair, ill, complaint
):
    pair = make_pair(ill=ill)
    begin = time.monotonic()
    with pytest.raises(ChildError, match=complaint):
        pair.run(64, 0.0, 0.0, 8, 2.0)
    assert time.monotonic() - begin < 20
    assert pair.run(64, 0.0, 0.0, 8, 30.0).steps == 8


def test_a_failure_is_tried_once_more(make_pair, capsys):
    pair, tries = make_pair(), []

    def attempt():
        tries.append(1)
        if len(tries) == 1:
            raise ChildError("out of luck")
        return pair.run(8, 0.0, 0.0, 2, 30.0)

    assert run_again_once(pair, attempt).steps == 2
    assert len(tries) == 2
    assert "out of luck" in capsys.readouterr().err
