# SPDX-License-Identifier: Apache-2.0
"""Contact files that were changed, are not ours, are garbage, or left behind."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from faults.traces import stream_name
from harness import scenario

import fluvial as fl


@pytest.fixture
def writer(tmp_path):
    with fl.open(stream_name(tmp_path), "w", readers=0, directory=tmp_path) as series:
        yield series


def attach(writer, tmp_path):
    return fl.open(writer.name, directory=tmp_path, rendezvous_timeout=0.5)


def test_a_wrong_key_is_refused_and_the_right_one_still_works(writer, tmp_path):
    contact = pathlib.Path(writer.contact_path)
    original = contact.read_text()
    key = original.partition("key=")[2][:64]
    contact.write_text(original.replace(key, "".join(f"{15 - int(digit, 16):x}" for digit in key)))
    with pytest.raises(fl.Refused, match="key of the contact file is not the writer's"):
        attach(writer, tmp_path)
    contact.write_text(original.replace(key, key[:10]))
    with pytest.raises(fl.Refused, match="64 hexadecimal digits"):
        attach(writer, tmp_path)
    assert writer.stats["readers_joined"] == 0
    contact.write_text(original)
    attach(writer, tmp_path).close()
    assert writer.stats["readers_joined"] == 1


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ("garbage\n", fl.Error, "not a contact file of this version"),
        ("fluvial-contact 999\nend\n", fl.Error, "install the same version"),
        ("fluvial-contact 2\nhost=here\n", fl.StaleContact, "empty or cut short"),
        ("", fl.StaleContact, "empty or cut short"),
    ],
)
def test_what_is_no_contact_file_is_named(tmp_path, content, kind, message):
    path = tmp_path / f"{stream_name(tmp_path)}.fluvial"
    path.write_text(content)
    with pytest.raises(kind, match=message) as caught:
        fl.open(stream_name(tmp_path), directory=tmp_path, rendezvous_timeout=0.3)
    assert str(path) in str(caught.value)
    with fl.open(
        stream_name(tmp_path), "w", readers=0, directory=tmp_path
    ):  # a writer takes it over
        assert path.read_text() != content


def test_a_file_that_may_not_be_read_is_refused(writer, tmp_path):
    path = pathlib.Path(writer.contact_path)
    assert path.stat().st_mode & 0o777 == 0o600
    child = os.fork()
    if child == 0:  # another user, where we may become one
        status = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            else:
                path.chmod(0)
            attach(writer, tmp_path)
        except fl.Refused as error:
            status = 0 if "may not be read" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_stale_at_once_after_an_exit_without_a_close(tmp_path):
    """However a process ends, the file that it leaves is recognised as stale."""
    script = (
        "import sys, os, fluvial as fl;"
        "series = fl.open(sys.argv[1], 'w', readers=0, directory=sys.argv[2]);"
        "print(os.getpid(), flush=True); os._exit(0)"
    )
    name = stream_name(tmp_path)
    child = subprocess.run(
        [sys.executable, "-c", script, name, tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    begin = time.monotonic()
    with pytest.raises(
        fl.StaleContact, match=f"of process {child.stdout.strip()}.*[Ss]tart the writer again"
    ):
        fl.open(name, directory=tmp_path, rendezvous_timeout=30)
    assert time.monotonic() - begin < 10  # and not the 30 s that a writer is waited for
    with (
        fl.open(name, "w", readers=0, directory=tmp_path) as series,
        fl.open(name, directory=tmp_path) as reader,
    ):
        with series.step() as step:
            step.put("x", np.ones(2))
        assert reader.next()["x"].read().tolist() == [1, 1]


def test_a_series_that_is_dropped_without_close_ends_with_an_error(tmp_path):
    name = stream_name(tmp_path)
    series = fl.open(name, "w", readers=0, directory=tmp_path)
    with fl.open(name, directory=tmp_path) as reader:
        with series.step() as step:
            step.put("x", np.ones(2))
        del series, step
        assert reader.next() is not None
        with pytest.raises(fl.PeerLost, match="given up without close"):
            reader.next()


def test_a_writer_that_ends_while_a_reader_attaches_is_no_error_and_the_next_one_is_waited_for(
    tmp_path,
):
    name, address = stream_name(tmp_path), f"fluvial-test-{os.getpid()}"
    ending = fl.open(name, "w", readers=0, directory=tmp_path)
    contact = pathlib.Path(ending.contact_path)
    contact.write_text(re.sub(r"\bsocket=.*", f"socket={address}", contact.read_text()))

    def end_and_begin():
        connection, _ = listener.accept()
        ending.close()
        connection.close()
        return fl.open(name, "w", readers=0, directory=tmp_path)

    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
        ThreadPoolExecutor(1) as thread,
    ):
        listener.bind("\0" + address)
        listener.listen()
        begun = thread.submit(end_and_begin)
        with (
            fl.open(name, directory=tmp_path, rendezvous_timeout=20) as reader,
            begun.result() as series,
        ):
            with series.step() as step:
                step.put("x", np.ones(2))
            assert reader.next()["x"].read().tolist() == [1, 1]


@scenario("reader on 2 ranks")
class test_reader_ranks_follow_rank_0_to_one_writer:
    """As when a writer ends and another begins while the ranks open the stream."""

    def reader(comm, fl, where):
        writers = []
        for directory in where / "0", where / "1":
            if comm.rank == 0:
                directory.mkdir()
                writers.append(fl.open("melt", "w", readers=0, directory=directory))
        comm.Barrier()
        os.environ["FLUVIAL_DIRECTORY"] = str(where / str(comm.rank))
        try:
            fl.open("melt", comm=comm, rendezvous_timeout=20)
        except fl.PeerLost as error:
            return str(error)
        finally:
            comm.Barrier()
            for writer in writers:
                writer.close()

    def check(jobs):
        for said in jobs.finish()["reader"]:
            assert said.startswith("rank 1 of 2: the writer was replaced by another")


@scenario("reader on 2 ranks")
class test_reader_ranks_need_no_contact_file_beside_rank_0:
    """As when a writer closes, and removes it, while the ranks open the stream."""

    def reader(comm, fl, where):
        folder = where / str(comm.rank)
        folder.mkdir()
        values = []
        for transport in "auto", "tcp":
            writer = None
            if comm.rank == 0:
                writer = fl.open("melt", "w", readers=0, directory=folder)
            comm.Barrier()
            begin = time.monotonic()
            with fl.open(
                "melt", comm=comm, directory=folder, transport=transport, rendezvous_timeout=20
            ) as reader:
                assert time.monotonic() - begin < 10
                if writer is not None:
                    with writer.step() as step:
                        step.put("x", np.arange(3))
                values += reader.next()["x"].read().tolist()
            if writer is not None:
                writer.close()
        return values

    def check(jobs):
        assert jobs.finish()["reader"] == [[0, 1, 2, 0, 1, 2]] * 2
