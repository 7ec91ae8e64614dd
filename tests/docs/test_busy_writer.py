# SPDX-License-Identifier: Apache-2.0
"""The example of a writer that computes for long between its steps."""

import pathlib
import re
import statistics
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "19_busy_writer"


def test_a_step_comes_while_its_writer_computes(launcher, tmp_path):
    computing_s = 1.0
    env = {"FLUVIAL_DIRECTORY": str(tmp_path)}
    jobs = [
        launcher.start(
            1,
            [sys.executable, str(EXAMPLE / name), *words],
            timeout=60,
            env=env,
            stdout=subprocess.PIPE,
        )
        for name, *words in (("reader.py",), ("writer.py", str(computing_s), "16"))
    ]
    printed = []
    for job in jobs:
        with job:
            printed.append(job.process.communicate(timeout=75)[0].decode())
            assert job.wait() == 0, printed[-1]
    came = re.findall(r"reader: step (\d) came in (\d+) ms, all (\d)\n", printed[0])
    assert [(int(step), int(value)) for step, _, value in came] == [(i, i) for i in range(5)]
    # Not served before the writer calls Fluvial again, each of them would take that long.
    assert statistics.median(int(ms) for _, ms, _ in came) < 1e3 * computing_s / 2
    assert re.fullmatch(
        r"writer: computing takes [\d.]+ s alone, [\d.]+ s while 16 MiB are read\n", printed[1]
    )
