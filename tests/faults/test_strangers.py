# SPDX-License-Identifier: Apache-2.0
"""Strangers, which connect to a writer without its key; files that they plant; other hosts.

Any process on the host can connect to the writer's socket. The packets of strangers are made by
hand here, in the protocol's format: a count of descriptors (4 bytes) and a payload.
"""

import array
import contextlib
import ctypes
import hashlib
import hmac
import os
import pathlib
import random
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from faults.traces import stream_name
from harness import scenario, wait_until

import fluvial as fl

STRANGER = 2
HANDSHAKE = pathlib.Path(__file__).parents[2] / "src/fluvial/stage/handshake.hpp"
# Of a client with another one nothing would be looked at.
PROTOCOL = int(re.search(r"handshake_protocol = (0x\w+)", HANDSHAKE.read_text())[1], 16)
SEED = 4242

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def writer(tmp_path):
    with fl.open(stream_name(tmp_path), "w", readers=0, directory=tmp_path) as series:
        yield series


@pytest.fixture
def many_descriptors():
    """A thousand connections have two thousand ends here."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 4096:
        pytest.skip("not run: needs 4096 open files (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(4096, limits[0]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def connect(series):
    contact = pathlib.Path(series.contact_path).read_text()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.settimeout(30)
    door.connect("\0" + re.search("socket=(.*)", contact)[1])
    return door


def key_of(series):
    return bytes.fromhex(re.search("key=(.*)", pathlib.Path(series.contact_path).read_text())[1])


def hello():
    return struct.pack("=II32x", 0, PROTOCOL)


def attach_and_read(series, directory):
    """What must still work after every attack."""
    with fl.open(series.name, directory=directory) as reader:
        with series.step() as step:
            step.put("x", np.arange(3.0))
        assert reader.next()["x"].read().tolist() == [0, 1, 2]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def in_child(work):
    """Run `work` in a process of its own; return what it returns or raises, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                said = f"{work()}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def opens(name, directory, mode):
    """For `in_child`: the result of opening a stream, within 20 s."""
    signal.alarm(20)
    waits_for_nobody = {"readers": 0} if mode == "w" else {"rendezvous_timeout": 2}
    fl.open(name, mode, directory=directory, **waits_for_nobody).close()
    return "opened"


@pytest.mark.parametrize("payload", [b"", b"x", hello()])
def test_descriptors_that_nobody_asked_for_cost_the_writer_none(writer, tmp_path, payload):
    attach_and_read(writer, tmp_path)
    before = descriptors()
    ten = array.array("i", [2] * 10)
    for _ in range(20):
        # Some kernels refuse them for the writer.
        with connect(writer) as door, contextlib.suppress(PermissionError):
            door.sendmsg([payload], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ten)])
    attach_and_read(writer, tmp_path)
    wait_until(lambda: descriptors() <= before, timeout=20, what="descriptors to be closed")


def test_a_thousand_silent_clients_do_not_shut_a_reader_out(writer, tmp_path, many_descriptors):
    silent = [connect(writer) for _ in range(1000)]
    attach_and_read(writer, tmp_path)
    for door in silent:
        door.close()


def test_garbage_half_handshakes_and_clients_that_vanish(writer, tmp_path):
    draw = random.Random(SEED)
    attach_and_read(writer, tmp_path)
    before = descriptors()
    for _ in range(300):
        with connect(writer) as door:
            for _ in range(draw.randrange(4)):
                packet = draw.choice([hello(), draw.randbytes(draw.randrange(200)), hello()[:-1]])
                try:
                    door.send(packet)
                    if draw.random() < 0.5:
                        door.recv(1000)
                except OSError:
                    break  # its connection was closed
    attach_and_read(writer, tmp_path)
    wait_until(lambda: descriptors() <= before, timeout=20, what="descriptors to be closed")
    assert writer.stats["readers_lost"] == 0


def test_clients_with_the_key_that_never_read_keep_nobody_waiting(writer, tmp_path):
    doors = []
    for _ in range(10):
        door = connect(writer)
        door.send(hello())
        nonce = door.recv(1000)[5:37]
        proof = hmac.digest(key_of(writer), b"c" + bytes(32) + nonce, hashlib.sha512)[:32]
        door.send(
            struct.pack("=I", 0) + proof + struct.pack("=IiiiIIQi4x", 1, 0, 1, -1, 0, 1, 0, -1)
        )
        doors.append(door)
    attach_and_read(writer, tmp_path)
    for door in doors:
        door.close()


@needs_root
def test_another_user_is_refused_without_a_challenge(writer, tmp_path):
    address = re.search("socket=(.*)", pathlib.Path(writer.contact_path).read_text())[1]

    def knock():
        os.setuid(STRANGER)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.settimeout(30)
            door.connect("\0" + address)
            return door.recv(1000)[4:]

    said = in_child(knock)
    assert "Refused" in said
    assert "uid 2" in said
    attach_and_read(writer, tmp_path)


@needs_root
def test_a_contact_file_that_another_user_planted_gets_no_key(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    planted = shared / "melt.fluvial"
    planted.write_text("")
    planted.chmod(0o666)
    os.chown(planted, STRANGER, STRANGER)
    with pytest.raises(fl.Refused, match=r"belongs to another user.*\(uid 2\)"):
        fl.open("melt", "w", readers=0, directory=shared)
    assert planted.read_text() == ""
    assert os.listdir(shared) == ["melt.fluvial"]
    with pytest.raises(fl.Refused, match="belongs to another user"):
        fl.open("melt", directory=shared, rendezvous_timeout=2)


@pytest.mark.parametrize("kind", ["FIFO", "symbolic link", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "melt.fluvial"
    if kind == "FIFO":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        path.mkdir()
    else:
        (tmp_path / "target").write_text("")
        path.symlink_to(tmp_path / "target")
    for mode in "r", "w":
        # In a process of its own, because a FIFO used to hang it.
        said = in_child(lambda mode=mode: opens("melt", tmp_path, mode))
        assert said.startswith("Refused: ")
        assert kind in said


@pytest.mark.parametrize(
    ("mode", "remedy"), [(0o777, "chmod go-w"), (0o775, "chmod g-w"), (0o770, "chmod g-w")]
)
@needs_root
def test_a_folder_that_others_may_write_to_is_refused_with_the_remedy(tmp_path, mode, remedy):
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chown(shared, -1, 54321)
    shared.chmod(mode)
    for arguments in {"mode": "w", "readers": 0}, {"mode": "r", "rendezvous_timeout": 2}:
        with pytest.raises(fl.Refused, match=f"{remedy} {shared}.*FLUVIAL_DIRECTORY"):
            fl.open("melt", directory=shared, **arguments)
    assert os.listdir(shared) == []
    shared.chmod(mode & ~0o022)
    fl.open("melt", "w", readers=0, directory=shared).close()


@needs_root
def test_a_reader_in_another_network_namespace_is_told_so(writer, tmp_path):
    def moves_and_opens():
        new_network = 0x40000000
        if ctypes.CDLL(None).unshare(new_network):
            return "not run"
        return opens(writer.name, tmp_path, "r")

    said = in_child(moves_and_opens)
    if said == "not run":
        pytest.skip("not run: network namespaces cannot be made here")
    assert "the writer cannot be reached" in said
    assert f"process {os.getpid()}" in said
    assert "--network=host" in said
    assert "ended" not in said
    attach_and_read(writer, tmp_path)


def test_a_reader_without_a_free_descriptor_does_not_call_the_writer_dead(writer, tmp_path):
    def open_with_few():
        first = os.dup(2)
        os.close(first)
        said = []
        for more in range(14):
            resource.setrlimit(resource.RLIMIT_NOFILE, (first + more, first + 14))
            try:
                fl.open(writer.name, directory=tmp_path, rendezvous_timeout=20).close()
                said.append("opened")
            except fl.Error as error:
                said.append(f"{type(error).__name__} {'ulimit -n' in str(error)}")
        return said

    said = in_child(open_with_few)
    assert "SystemError True" in said
    assert set(eval(said)) <= {"SystemError True", "opened"}


@pytest.mark.parametrize(
    "transport, said",
    [
        ("auto", r"the writer cannot accept.*Too many open files"),
        # Over the network a connection that is not taken is all that can be seen of it.
        ("tcp", r"the writer cannot (let a reader in.*Too many open files|be reached)"),
    ],
)
def test_a_writer_without_a_free_descriptor_is_named_and_serves_again_later(
    tmp_path, transport, said
):
    script = """
        import os, resource, sys, fluvial as fl
        with fl.open(sys.argv[1], "w", readers=0, directory=sys.argv[2], network="127.0.0.1"):
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
            taken = []
            try:
                while True:
                    taken.append(os.dup(2))
            except OSError:
                print("full", flush=True)
            sys.stdin.readline()
            for descriptor in taken:
                os.close(descriptor)
            print("free", flush=True)
            sys.stdin.readline()
    """
    name = stream_name(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), name, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "full\n"
        begin = time.monotonic()
        with pytest.raises(fl.Error, match=said):
            fl.open(name, directory=tmp_path, transport=transport)
        assert time.monotonic() - begin < 20  # and not a time-out
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "free\n"
        fl.open(name, directory=tmp_path, transport=transport).close()
        process.stdin.write("end\n")


@needs_root
@scenario("writer on 2 ranks")
class test_a_full_disk_is_an_error_on_all_writer_ranks:
    def writer(comm, fl, where):
        folder = where / "small"
        folder.mkdir(exist_ok=True)
        comm.Barrier()
        libc = ctypes.CDLL(None, use_errno=True)
        new_mounts, private, all_below = 0x20000, 0x40000, 0x4000
        if (
            libc.unshare(new_mounts)
            or libc.mount(None, b"/", None, private | all_below, None)
            or libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, b"size=4k,mode=700")
        ):
            return "not run"
        (folder / "filler").write_bytes(bytes(4096))
        try:
            fl.open("melt", "w", comm=comm, readers=0, directory=folder)
        except fl.SystemError as error:
            return str(error), os.listdir(folder)

    def check(jobs):
        said = jobs.finish()["writer"]
        if "not run" in said:
            pytest.skip("not run: nothing can be mounted here")
        for message, left in said:
            assert "No space left on device" in message
            assert "option directory" in message
            assert left == ["filler"]


def test_a_contact_file_under_another_name_does_not_lead_to_another_stream(writer, tmp_path):
    """As by a hard link that another user makes in a folder that all may write to."""
    (tmp_path / "other.fluvial").hardlink_to(writer.contact_path)
    with pytest.raises(fl.Refused, match=f"contact file of 'other'.*'{writer.name}'"):
        fl.open("other", directory=tmp_path, rendezvous_timeout=2)
    (tmp_path / "other.fluvial").unlink()
    attach_and_read(writer, tmp_path)


def test_the_contact_file_is_its_users_alone_from_its_first_moment(tmp_path):
    """Whatever the umask; and nothing else appears beside it."""
    old = os.umask(0)
    try:
        with fl.open("melt", "w", readers=0, directory=tmp_path):
            assert os.listdir(tmp_path) == ["melt.fluvial"]
            status = (tmp_path / "melt.fluvial").stat()
            assert stat.S_IMODE(status.st_mode) == 0o600
    finally:
        os.umask(old)
    assert os.listdir(tmp_path) == []
