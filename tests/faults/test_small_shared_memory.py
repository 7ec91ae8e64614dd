# SPDX-License-Identifier: Apache-2.0
"""Where /dev/shm is small, rings do without it."""

import shutil
import subprocess
import sys

import pytest
from fluvial.launch import Launcher
from fluvial.launch.supervisor import supervised

# As containers have it by default: enough for MPI itself, and less than the ring that is filled.
SMALL_BYTES = 64 << 20

PROGRAM = """
import os, sys, time
from mpi4py import MPI
import numpy as np
import fluvial as fl
comm = MPI.COMM_WORLD
room = os.statvfs("/dev/shm")
assert room.f_blocks * room.f_frsize == {small}, room
with fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank == 1) as channel:
    numbers = channel.stream("numbers", dtype="i8", shape=1024, op="sum", buffer_bytes=128 << 20)
    if comm.rank == 0:
        numbers.send(np.ones((9216, 1024), "i8"))  # 72 MiB, all of which has to wait
        comm.barrier()
        numbers.terminate()
    else:
        comm.barrier()
        print("sum", int(numbers.result()))
"""


def in_small_shared_memory():
    """Return the words in front of a command that give it a /dev/shm of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare(1)")
    mount = f'mount -t tmpfs -o size={SMALL_BYTES} tmpfs /dev/shm && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace here: {tried.stderr.strip()}")
    return words


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
def test_a_ring_larger_than_dev_shm_is_filled():
    words = in_small_shared_memory()
    launcher = Launcher.detect()
    program = PROGRAM.format(small=SMALL_BYTES)
    command = launcher.command(2, [sys.executable, "-c", program])
    argv = [*words, *supervised(command, timeout=60)]
    ran = subprocess.run(
        argv, env=launcher.environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"sum {9216 * 1024}\n" in ran.stdout
