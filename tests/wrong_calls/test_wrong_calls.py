# SPDX-License-Identifier: Apache-2.0
"""A wrong argument is an error of one clear line: no crash, no hang, nothing of C++ in it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("kind", ["table", "any"])
def test_every_public_call_survives_wrong_arguments(tmp_path, kind):
    log = tmp_path / "calls.log"
    done = subprocess.run(
        [sys.executable, "-m", "wrong_calls.child", kind, str(log)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path[1:]])},
        capture_output=True,
        text=True,
        timeout=110,
    )
    begun = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    assert done.returncode == 0, f"ended in: {begun[-1:]}\n{done.stderr[-3000:]}"
    report = json.loads(done.stdout.splitlines()[-1])
    assert not report["faults"], "\n".join(report["faults"][:40])
    # Most of them must have been refused, or the calls do not do what they seem to.
    assert report["errors"] > report["calls"] / 2
