# SPDX-License-Identifier: Apache-2.0
"""What cannot work is refused at open: the option, its value and what is allowed are named."""

import concurrent.futures
import os
import stat
import time

import numpy as np
import pytest

import fluvial as fl

WRITER = [
    ({"queue_steps": 0}, "queue_steps.*got 0; allowed: 1 to 512"),
    ({"queue_steps": 513}, "queue_steps.*got 513; allowed: 1 to 512"),
    ({"queue_steps": "4"}, "queue_steps.*got '4'; allowed: an int"),
    ({"queue_steps": 1.5}, r"queue_steps.*got 1\.5; allowed: an int"),
    ({"queue_steps": 2**70}, "queue_steps.*got 1180591620717411303424"),
    ({"queue_bytes": -1}, "queue_bytes.*got -1; allowed: 1 to"),
    ({"queue_bytes": 2**62}, "queue_bytes.*got 4611686018427387904; allowed: 1 to 8796093022208"),
    ({"queue_bytes": "much"}, "number of bytes: got 'much'; allowed"),
    ({"queue_bytes": "1 XiB"}, "number of bytes: got '1 XiB'"),
    ({"queue_bytes": "inf GiB"}, "number of bytes: got 'inf GiB'"),
    ({"queue_bytes": "1e30 GiB"}, "queue_bytes"),
    ({"queue_bytes": 1.5}, r"queue_bytes.*got 1\.5; allowed"),
    ({"full": "drop"}, "full: got 'drop'; allowed: 'block', 'discard-newest', 'discard-oldest'"),
    ({"full": None}, "full.*got None; allowed: a str"),
    ({"readers": -1}, "readers.*got -1; allowed: 0 to 32"),
    ({"readers": 33}, "readers.*got 33; allowed: 0 to 32"),
    ({"readers": 2**40}, "readers.*got 1099511627776"),
    ({"on_stalled_reader": "kill"}, "on_stalled_reader: got 'kill'; allowed: 'evict', 'wait'"),
    (
        {"on_stalled_reader": "wait", "step_timeout": 1, "stall_timeout": 2},
        "cannot work together.*step_timeout=1 s, stall_timeout=2 s; allowed: step_timeout above",
    ),
    ({"start": "next"}, "unknown option for mode 'w': got start; allowed: .*queue_steps"),
]
READER = [
    ({"start": "last"}, "start: got 'last'; allowed: 'oldest', 'next'"),
    ({"start": 0}, "start.*got 0; allowed: a str"),
    ({"queue_steps": 4}, "unknown option for mode 'r': got queue_steps; allowed: .*start"),
]
BOTH = [
    *[
        ({name: value}, f"{name}.*got .*{shown}.*allowed")
        for name in ("rendezvous_timeout", "step_timeout", "stall_timeout")
        for value, shown in [
            (-1, "-1"),
            (float("nan"), "nan"),
            (float("inf"), "inf"),
            (1e8, "1e"),
            ("1", "'1'"),
            (None, "None"),
        ]
    ],
    ({"stall_timeout": 0.1}, r"stall_timeout.*got 0\.1 s; allowed: 0\.2 to 1e"),
    ({"timeout": 1}, "unknown option.*got timeout; allowed: .*rendezvous_timeout"),
    ({"name": ""}, "name of the stream.*got ''; allowed: 1 to 128 letters"),
    ({"name": "a b"}, "name of the stream.*got 'a b'"),
    ({"name": "x" * 129}, "name of the stream"),
    ({"name": 3}, "name of the stream.*got 3; allowed: a str"),
    ({"comm": 5}, "not a communicator: got 5; allowed: an mpi4py communicator, or None"),
]


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [("w", *case) for case in WRITER + BOTH] + [("r", *case) for case in READER + BOTH],
    ids=lambda value: str(value)[:40],
)
def test_refused_at_once(tmp_path, mode, options, message):
    begin = time.monotonic()
    with pytest.raises(fl.InvalidArgument, match=message):
        fl.open(**{"name": "s", "mode": mode, "directory": tmp_path, **options})
    assert time.monotonic() - begin < 1
    assert not list(tmp_path.iterdir())


def test_an_unknown_mode(tmp_path):
    with pytest.raises(fl.InvalidArgument, match="unknown mode: got 'a'; allowed: 'w', 'r'"):
        fl.open("s", "a", directory=tmp_path)


def test_sizes_in_words(tmp_path):
    for size in ("1 MiB", 1 << 20, "1048576", "1048576 B", "1.0MiB"):
        with (
            fl.open("s", "w", readers=0, directory=tmp_path, queue_bytes=size) as series,
            series.step() as step,
        ):
            with pytest.raises(fl.InvalidArgument, match="queue_bytes=1048576"):
                step.span("x", "u1", ((1 << 20) + 1,))
            step.span("x", "u1", (1 << 20,))


def test_a_directory_that_is_missing_is_named_by_both_sides(tmp_path):
    missing = tmp_path / "no" / "such"
    with pytest.raises(fl.SystemError, match=f"{missing}.*option directory"):
        fl.open("s", "w", readers=0, directory=missing)
    with pytest.raises(fl.TimedOut, match=f"no writer opened 's'.*{missing}"):
        fl.open("s", directory=missing, rendezvous_timeout=0.1)


def test_a_folder_to_retain_steps_in_is_named_where_it_cannot_be_made(tmp_path):
    missing = tmp_path / "no" / "such"
    with pytest.raises(fl.SystemError, match=f"{missing}/s.steps.*exists.*by the option retain"):
        fl.open("s", "w", readers=0, directory=tmp_path, retain=missing)


def test_more_axes_than_there_are_is_an_error_that_says_what_to_do(tmp_path):
    message = "up to 16 dimensions. It has 17: join some of them by array.reshape"
    with (
        fl.open("s", "w", readers=0, directory=tmp_path) as series,
        pytest.raises(fl.WrongType, match=message),
        series.step() as step,
    ):
        step.put("x", np.zeros((1,) * 17))


def test_a_name_in_use_is_refused_with_the_process(tmp_path):
    with fl.open("s", "w", readers=0, directory=tmp_path) as series:
        with pytest.raises(
            fl.InvalidArgument, match=f"already being written.*process {os.getpid()} has it"
        ):
            fl.open("s", "w", readers=0, directory=tmp_path)
        with fl.open("other", "w", readers=0, directory=tmp_path):
            pass
        assert stat.S_IMODE(os.stat(series.contact_path).st_mode) == 0o600
        fl.open("s", directory=tmp_path).close()  # the first goes on


def test_nobody_comes_in_time(tmp_path):
    for timeout in (0, 0.2):
        begin = time.monotonic()
        with pytest.raises(
            fl.TimedOut,
            match=f"too few readers .* rendezvous_timeout={timeout} s: got 0 .*allowed: 2",
        ):
            fl.open("s", "w", readers=2, directory=tmp_path, rendezvous_timeout=timeout)
        assert not list(tmp_path.iterdir())
        with pytest.raises(
            fl.TimedOut, match=f"no writer opened 's' within rendezvous_timeout={timeout} s"
        ):
            fl.open("s", directory=tmp_path, rendezvous_timeout=timeout)
        assert 2 * timeout <= time.monotonic() - begin < 2 * timeout + 2


def test_errors_are_what_python_programs_expect():
    assert issubclass(fl.InvalidArgument, (fl.Error, ValueError))
    for kind, base in [
        (fl.InvalidArgument, ValueError),
        (fl.TimedOut, TimeoutError),
        (fl.PeerLost, ConnectionError),
        (fl.PeerStalled, concurrent.futures.BrokenExecutor),
        (fl.Refused, PermissionError),
        (fl.StaleContact, ConnectionError),
    ]:
        assert issubclass(kind, base)
        assert issubclass(kind, fl.Error)
        assert issubclass(kind, RuntimeError)
    assert issubclass(fl.PeerStalled, fl.PeerLost)


def test_a_writer_that_lets_nobody_connect(tmp_path):
    with (
        fl.open("alone", "w", directory=tmp_path, readers=0, network="off"),
        pytest.raises(fl.Error, match=r"lets no readers connect.*network=off"),
    ):
        fl.open("alone", directory=tmp_path, transport="tcp")


def test_interfaces_that_are_none_are_told_before_a_writer_is_there(tmp_path, monkeypatch):
    begin = time.monotonic()
    for wrong in ("no-such0", "lo,203.0.113.0/24"):
        with pytest.raises(fl.InvalidArgument, match=r"option interfaces: got .*lo \(127"):
            fl.open("gas", directory=tmp_path, interfaces=wrong, rendezvous_timeout=30)
    monkeypatch.setenv("FLUVIAL_INTERFACES", "no-such0")
    with pytest.raises(fl.InvalidArgument, match="option interfaces: got 'no-such0'"):
        fl.open("gas", directory=tmp_path, rendezvous_timeout=30)
    assert time.monotonic() - begin < 15


def test_a_contact_that_is_empty_is_not_one_that_was_not_given(tmp_path):
    with (
        fl.open("alone", "w", directory=tmp_path, readers=0),
        pytest.raises(fl.InvalidArgument, match="contact is empty"),
    ):
        fl.open("alone", directory=tmp_path, contact="")


@pytest.mark.parametrize(("mode", "option"), [("r", "resume"), ("w", "retain")])
def test_an_empty_name_or_folder_is_not_one_that_was_not_given(tmp_path, mode, option):
    options = {"directory": tmp_path, "rendezvous_timeout": 5, option: ""}
    with pytest.raises(fl.InvalidArgument, match=f"{option} is empty: got ''; allowed: a "):
        fl.open("alone", mode, **options)


def test_a_folder_without_retained_steps_is_named(tmp_path):
    options = {"directory": tmp_path, "rendezvous_timeout": 0.2, "retained": tmp_path / "gone"}
    where = r"no steps in .*gone/alone\.steps.*correct retained"
    with pytest.raises(fl.TimedOut, match=where):
        fl.open("alone", **options)
