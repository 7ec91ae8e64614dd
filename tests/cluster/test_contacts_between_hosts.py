# SPDX-License-Identifier: Apache-2.0
"""Readers that find a writer by the name of its host: they share no folder with it."""

import os
import re
import subprocess

import numpy as np
import pytest
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario, wait_until, write_whole

PORT = 40_123


def private(where, comm):
    """Return a folder of the writer's own."""
    folder = where / "private"
    if comm is None or comm.rank == 0:
        folder.mkdir(mode=0o700)
    return folder


def know_hosts(where, **addresses):
    """Give hosts names on this host, whose mounts are its own."""
    hosts = where / f"hosts-{os.getpid()}"
    lines = (f"{address} {name}\n" for name, address in addresses.items())
    hosts.write_text("127.0.0.1 localhost\n" + "".join(lines))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


def put_one(series, comm):
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    with series.step() as step:
        step.put("x", np.arange(5) + rank, offset=(5 * rank,), shape=(5 * size,))


@scenario("writer on 2 ranks of hosts 1-2, reader on 2 ranks of host 3")
class test_the_writer_gives_its_contact_itself:
    """By a name of its first host and a port; it knows those that may have it by a key."""

    def writer(comm, fl, where):
        os.environ["FLUVIAL_KEY"] = str(where / "key")
        options = {**SHORT, "directory": private(where, comm), "ports": str(PORT)}
        with fl.open(stream_name(where), "w", comm=comm, **options) as series:
            put_one(series, comm)

    def reader(comm, fl, where):
        os.environ["FLUVIAL_DIRECTORY"] = "/nowhere"
        know_hosts(where, simulation="10.77.0.1")
        name = f"fluvial://simulation:{PORT}/{stream_name(where)}"
        # Of a reader's ranks the first alone needs the key.
        os.environ["FLUVIAL_KEY"] = str(where / "wrong") if comm.rank == 0 else "/nowhere"
        with pytest.raises(fl.Refused, match=rf"10\.77\.0\.1:{PORT}; allowed: its writer"):
            fl.open(name, comm=comm, **SHORT)
        if comm.rank == 0:
            os.environ["FLUVIAL_KEY"] = str(where / "key")
        with fl.open(name, comm=comm, **SHORT) as series:
            return [step["x"].read().tolist() for step in series]

    def check(jobs):
        for name, digit in (("key", "a"), ("wrong", "b")):
            (jobs.where / name).touch(mode=0o600)
            (jobs.where / name).write_text(64 * digit)
        assert jobs.finish()["reader"] == [[[0, 1, 2, 3, 4, 1, 2, 3, 4, 5]]] * 2


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_host_whose_address_has_changed:
    """Its name leads there; where it does not, that is said, too."""

    def writer(comm, fl, where):
        with fl.open(
            stream_name(where), "w", directory=private(where, comm), readers=0, **SHORT
        ) as series:
            write_whole(where / "text", series.contact)
            wait_until((where / "attached").exists, timeout=40)
            put_one(series, comm)

    def reader(comm, fl, where):
        wait_until((where / "text").exists, timeout=30)
        text = (where / "text").read_text()
        host = re.search(r"\nhost=(.*)\n", text)[1]
        assert f",{host}:" in text
        moved = re.sub(r"\d+(\.\d+){3}:", "10.77.0.2:", text)
        options = {**SHORT, "rendezvous_timeout": 1}
        with pytest.raises(
            fl.Error,
            match=rf"10\.77\.0\.2:\d+: Connection refused, {host}:\d+: (no address|the system)",
        ):
            fl.open(stream_name(where), contact=moved, **options)
        know_hosts(where, **{host: "10.77.0.1"})
        with fl.open(stream_name(where), contact=moved, **SHORT) as series:
            (where / "attached").touch()
            return series.next()["x"].read().tolist()

    def check(jobs):
        assert jobs.finish()["reader"] == [[0, 1, 2, 3, 4]]
