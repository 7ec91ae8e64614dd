# SPDX-License-Identifier: Apache-2.0
"""Hundreds of streams in one process leave no descriptor, thread, mapping or memory."""

import gc
import os
import pathlib

import numpy as np
import pytest
from faults.traces import stream_name

import fluvial as fl


def held():
    """Descriptors, threads, mappings and resident KiB of this process."""
    gc.collect()
    status = dict(
        line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines()
    )
    maps = pathlib.Path("/proc/self/maps").read_text()
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": int(status["Threads"]),
        # A process that has had a channel beats as long as it lives.
        "streams mapped": maps.count("memfd:fluvial") - maps.count("memfd:fluvial-beats"),
        "rss": int(status["VmRSS"].split()[0]),
    }


def cycle(tmp_path, fault=None):
    name = stream_name(tmp_path)
    with (
        fl.open(name, "w", readers=0, directory=tmp_path, queue_bytes="16 MiB") as writer,
        fl.open(name, directory=tmp_path) as reader,
    ):
        for _ in range(3):
            with writer.step(time=1.0) as step:
                step.put("x", np.ones(50_000), attrs={"unitSI": 1.0})
                step.span("y", "f4", (1000,))[...] = 1
            view = reader.next()["x"][10:]
        if fault:
            fault(name, tmp_path)
        assert view.sum() == 49_990


def failing_opens(name, tmp_path):
    for arguments in (
        {"mode": "w", "readers": 0},  # in use
        {"mode": "w", "queue_steps": 0},
        {"name": name + "-not", "mode": "r", "rendezvous_timeout": 0},
        {"name": name + "-not", "mode": "w", "rendezvous_timeout": 0},
    ):
        with pytest.raises(fl.Error):
            fl.open(**{"name": name, "directory": tmp_path, **arguments})


@pytest.mark.parametrize(("fault", "cycles"), [(None, 200), (failing_opens, 15)])
def test_opening_and_closing(tmp_path, fault, cycles):
    for _ in range(5):  # what is made once a process is made
        cycle(tmp_path, fault)
    before = held()
    for _ in range(cycles):
        cycle(tmp_path, fault)
    after = held()
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"]
    assert after["streams mapped"] == before["streams mapped"] == 0
    assert after["rss"] < before["rss"] + 4000
    assert not list(tmp_path.iterdir())


def test_steps_leave_no_memory(tmp_path):
    name = stream_name(tmp_path)
    with (
        fl.open(name, "w", readers=0, directory=tmp_path, queue_steps=2) as writer,
        fl.open(name, directory=tmp_path) as reader,
    ):
        for index in range(3000):
            if index == 500:
                before = held()
            with writer.step(time=float(index), attrs={"number": index}) as step:
                step.put("x", np.ones(100), attrs={"unitSI": 1.0, "number": index})
            reader.next()["x"].read()
        assert held()["rss"] < before["rss"] + 3000
