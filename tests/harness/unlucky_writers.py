# SPDX-License-Identifier: Apache-2.0
"""Programs that write a series and meet a full disk, or are killed in the middle of a step."""

import signal
import subprocess
import sys


def refused_by_a_full_disk(path, **options):
    """Write steps of 1000, 1 000 000 and 1000 ones as `x` to a disk of 1 MiB; return what it says.

    A line "refused: …" for each error.
    """
    program = f"""
import resource, signal
import numpy as np, fluvial as fl
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
series = fl.open({str(path)!r}, "w", **{options!r})
for count in (1000, 1_000_000, 1000):
    try:
        with series.step() as step:
            step.put("x", np.ones(count))
    except OSError as error:
        print("refused:", error)
series.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed_in_the_third_step(path, *, before="_finish", name="x", first=0, length=10, **options):
    """Write three steps full of their iteration, from `first` on; die where it calls `before`."""
    program = f"""
import os, signal, numpy as np, fluvial as fl
series = fl.open({str(path)!r}, "w", **{options!r})
for index in range({first}, {first} + 3):
    with series.step(iteration=index) as step:
        step.put({name!r}, np.full({length}, index))
        if index == {first} + 2:
            series.{before} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
