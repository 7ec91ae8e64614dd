# SPDX-License-Identifier: Apache-2.0
"""A wrong argument is an error of one clear line: no crash, no hang, nothing of C++ in it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from wrong_calls import public_names

TESTS = pathlib.Path(__file__).resolve().parents[1]


def run_child(folder: pathlib.Path, kind: str) -> dict:
    log = folder / "calls.log"
    done = subprocess.run(
        [sys.executable, "-m", "wrong_calls.child", kind, str(log)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path[1:]])},
        capture_output=True,
        text=True,
        timeout=400,  # ten times what an idle machine takes
    )
    begun = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    assert done.returncode == 0, f"ended in: {begun[-1:]}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(420)
@pytest.mark.parametrize("kind", ["table", "any"])
def test_every_public_call_survives_wrong_arguments(tmp_path, kind):
    report = run_child(tmp_path, kind)
    assert not report["faults"], "\n".join(report["faults"][:40])
    # Most of them must have been refused, or the calls do not do what they seem to.
    assert report["errors"] > report["calls"] / 2


def test_no_public_call_is_forgotten(tmp_path):
    tried = run_child(tmp_path, "names")["tried"]
    assert public_names.missing(tried) == []
    assert public_names.needless() == []
    del tried["Pool.map"]
    tried["open"].remove("retain")
    assert public_names.missing(tried) == ["Pool.map", "open(retain)"]
