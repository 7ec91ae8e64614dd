# SPDX-License-Identifier: Apache-2.0
"""Readers in C whose writer is killed, gives up or ends."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PEER = -8  # FLUVIAL_EPEER

WRITER = textwrap.dedent(
    """
    import sys
    import numpy as np
    import fluvial as fl

    ends = sys.argv[1]
    series = fl.open("numbers", "w", queue_steps=2)
    for index in range(3 if ends != "killed" else 10**6):
        with series.step() as step:
            step.put("x", np.full(4, index / 4))
    if ends == "closes":
        series.close()
    """
)


@pytest.fixture(scope="module")
def reader(prefix, tmp_path_factory):
    """Compile the program as one of a user's."""
    made = tmp_path_factory.mktemp("c") / "reader"
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = subprocess.check_output(
        ["pkg-config", "--static", "--cflags", "--libs", "fluvial"], env=env, text=True
    )
    source = Path(__file__).with_name("reader_in_c.c")
    compiler = [shutil.which("cc") or "cc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, "-o", made, source, *shlex.split(flags)], check=True)
    return made


@pytest.mark.parametrize("ends", ["closes", "leaves", "killed"])
def test_a_reader_in_c_is_told_how_its_writer_ended(launcher, folder, reader, ends):
    with (
        subprocess.Popen([sys.executable, "-c", WRITER, ends], cwd=folder) as writer,
        launcher.start(1, [str(reader)], timeout=60, stdout=subprocess.PIPE) as job,
    ):
        first = job.process.stdout.readline()
        if ends == "killed":
            writer.send_signal(signal.SIGKILL)
        printed = (first + job.process.stdout.read()).decode().splitlines()
        assert job.wait() == 0
    *steps, ended, closed = printed
    assert steps == [f"step {number}" for number in range(len(steps))]
    assert closed == "closed: 0"
    if ends == "closes":
        assert (len(steps), ended) == (3, "end")
    else:
        assert ended.startswith(f"{PEER}: ")
        assert (f"process {writer.pid}" if ends == "killed" else "without close()") in ended
