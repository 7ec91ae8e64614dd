# SPDX-License-Identifier: Apache-2.0
"""Readers that know where a writer is, and its key, and see none of its files."""

import contextlib
import re
import secrets
import socket
import threading
import time

import numpy as np
import pytest

import fluvial as fl

SHORT = {"rendezvous_timeout": 0.5, "step_timeout": 10}


@pytest.fixture(autouse=True)
def key(tmp_path, monkeypatch):
    """A file of the key that both sides have; and no folder that both know."""
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(secrets.token_hex(32) + "\n")
    monkeypatch.setenv("FLUVIAL_KEY", str(file))
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path / "elsewhere"))
    return file


@pytest.fixture
def writer(tmp_path, key):
    with fl.open("gas", "w", directory=tmp_path, network="lo", readers=0) as series:
        with series.step(time=0.5) as step:
            step.put("x", [1.0, 2.0, 4.0])
        yield series


def port_of(writer):
    return int(re.search(r"addresses=127\.0\.0\.1:(\d+)", writer.contact)[1])


def test_the_contact_is_a_text_for_readers(writer, tmp_path):
    assert fl.contact(writer) == writer.contact == (tmp_path / "gas.fluvial").read_text()
    with fl.open("gas", contact=fl.contact(writer), start="observe", **SHORT) as series:
        assert series.next()["x"].read().tolist() == [1, 2, 4]
        with pytest.raises(fl.WrongType, match="allowed: a stream that is written"):
            fl.contact(series)


@pytest.mark.parametrize("transport", ["auto", "tcp"])
def test_a_reader_needs_the_address_alone(writer, transport):
    port = port_of(writer)
    for name, options in (
        (f"fluvial://127.0.0.1:{port}/gas", {}),
        (f"fluvial://localhost:{port}/gas", {}),
        ("gas", {"contact": f"localhost:{port}"}),
    ):
        with fl.open(name, start="observe", transport=transport, **options, **SHORT) as series:
            assert series.next()["x"].read().tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["info"], "float64"),
        (["ls", "-l"], "2.33"),
        (["watch", "--count", "1"], "1 steps"),
    ],
)
def test_commands_take_the_same_name(call, writer, words, shown):
    name = f"fluvial://localhost:{port_of(writer)}/gas"
    code, out, err = call(words[0], name, *words[1:])
    assert (code, err) == (0, "")
    assert shown in out


def test_pipe_reads_from_there(writer, tmp_path):
    name = f"fluvial://localhost:{port_of(writer)}/gas"
    ending = threading.Timer(0.5, writer.close)
    ending.start()
    fl.pipe(name, str(tmp_path / "gas.nc"), reading=SHORT)
    ending.join()
    with fl.open(str(tmp_path / "gas.nc")) as series:
        assert np.ravel(series["x"].read()).tolist() == [1, 2, 4]


def test_a_reader_that_comes_first_waits(tmp_path, key):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    got = []

    def read():
        with fl.open(f"fluvial://127.0.0.1:{port}/gas", rendezvous_timeout=20) as series:
            got.extend(step["x"].read().tolist() for step in series)

    reading = threading.Thread(target=read)
    reading.start()
    time.sleep(0.3)
    with (
        fl.open("gas", "w", directory=tmp_path, network="lo", ports=str(port)) as series,
        series.step() as step,
    ):
        step.put("x", [7])
    reading.join()
    assert got == [[7]]


def test_without_the_key_nobody_gets_it(writer, key, monkeypatch):
    name = f"fluvial://127.0.0.1:{port_of(writer)}/gas"
    monkeypatch.delenv("FLUVIAL_KEY")
    with pytest.raises(fl.InvalidArgument, match=r"no FLUVIAL_KEY; allowed: the path of a file"):
        fl.open(name, **SHORT)
    monkeypatch.setenv("FLUVIAL_KEY", str(key))
    key.write_text(secrets.token_hex(32))
    with pytest.raises(fl.Refused, match=r"127\.0\.0\.1:\d+; allowed: its writer.*FLUVIAL_KEY"):
        fl.open(name, **SHORT)
    key.write_text("secret")
    with pytest.raises(fl.InvalidArgument, match="6 characters; allowed: 64 hexadecimal digits"):
        fl.open(name, **SHORT)
    key.chmod(0o644)
    with pytest.raises(fl.Refused, match=r"mode 0644\); allowed: mode 0600"):
        fl.open(name, **SHORT)
    monkeypatch.setenv("FLUVIAL_KEY", "/nowhere")
    with pytest.raises(fl.SystemError, match="FLUVIAL_KEY, /nowhere"):
        fl.open(name, **SHORT)
    with pytest.raises(fl.SystemError, match="FLUVIAL_KEY, /nowhere"):
        fl.open("other", "w", directory=key.parent, readers=0)


def test_another_stream_there_is_refused(writer):
    with pytest.raises(fl.Refused, match="does not have the key of the stream 'oil'"):
        fl.open(f"fluvial://127.0.0.1:{port_of(writer)}/oil", **SHORT)


def test_a_stranger_learns_nothing_and_stays_for_two_seconds(writer):
    heard = b""
    for said in (b"", b"\x0b" * 100):
        with socket.create_connection(("127.0.0.1", port_of(writer)), timeout=15) as stranger:
            stranger.sendall(said)
            begin = time.monotonic()
            with contextlib.suppress(ConnectionResetError):
                while got := stranger.recv(4096):
                    heard += got
            assert time.monotonic() - begin < 10  # 2, where the machine is idle
    key = re.search(r"key=(\w+)", writer.contact)[1]
    assert bytes.fromhex(key) not in heard
    assert b"fluvial-contact" not in heard


def test_where_no_writer_comes_the_address_is_named():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        fl.TimedOut, match=rf"localhost:{port}: Connection refused.*ports.*FLUVIAL_KEY"
    ):
        fl.open(f"fluvial://localhost:{port}/gas", **SHORT)
    with pytest.raises(fl.TimedOut, match=r"no-such\.invalid:4000: (no address|the system)"):
        fl.open("fluvial://no-such.invalid:4000/gas", **SHORT)


@pytest.mark.parametrize(
    "name", ["fluvial://", "fluvial://h1/gas", "fluvial://h1:70000/gas", "fluvial://h1:4000"]
)
def test_what_is_no_address_is_told(name):
    with pytest.raises(fl.InvalidArgument, match="'fluvial://HOST:PORT/NAME'"):
        fl.open(name, **SHORT)


def test_two_contacts_and_writers_with_an_address_are_refused(tmp_path):
    with pytest.raises(fl.InvalidArgument, match="two contacts"):
        fl.open("fluvial://h1:4000/gas", contact="h1:4000", **SHORT)
    with pytest.raises(fl.InvalidArgument, match=r"a writer has no address.*option ports"):
        fl.open("fluvial://h1:4000/gas", "w", directory=tmp_path)
    with pytest.raises(fl.InvalidArgument, match="or HOST:PORT"):
        fl.open("gas", contact="h1", **SHORT)
