# SPDX-License-Identifier: Apache-2.0
"""Programs of the documentation, run as their readers would."""

import os
import subprocess


def run_serial(*command):
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.check_output([str(word) for word in command], text=True, env=env, timeout=60)


def run_on(launcher, ranks, *command, **how):
    """Run one job; return what it printed, sorted where ranks print each their own."""
    words = [str(word) for word in command]
    with launcher.start(ranks, words, timeout=60, stdout=subprocess.PIPE, **how) as job:
        printed = job.process.communicate(timeout=75)[0].decode()
        assert job.wait() == 0, printed
    return printed


def run_pair(launcher, where, writer, reader):
    """Start two jobs, the reader first; return what the reader printed."""
    env = {"FLUVIAL_DIRECTORY": str(where)}
    with (
        launcher.start(
            3, reader, timeout=60, cwd=where, env=env, stdout=subprocess.PIPE
        ) as reading,
        launcher.start(2, writer, timeout=60, cwd=where, env=env) as writing,
    ):
        printed = reading.process.communicate(timeout=75)[0].decode()
        assert (writing.wait(), reading.wait()) == (0, 0), printed
    assert not list(where.glob("*.fluvial")), "the contact file went with the writer"
    return printed.splitlines()
