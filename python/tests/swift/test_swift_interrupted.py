# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends scripts that never end."""

import re
import signal
import subprocess
import sys

import pytest
from harness import wait_until

LEAVES = """
import time

def spin(i):
    while True:
        sum(range(1000))

def doze(i):
    time.sleep(1000)
"""
BEGUN = 'file begun<"begun"> = write("");\n'
SCRIPTS = {
    "a loop": "for (int i = 0; true; i = i + 1) { int y = i; }",
    "a recursion": "(int r) f(int i) { r = f(i + 1); } trace(f(0));",
    "tasks one by one": "iterate i { sleep(0.01); } until (false);",
    "a leaf that computes": '(int n) spin(int i) "leaves"; foreach i in [0:1] { trace(spin(i)); }',
    "a leaf that sleeps": '(int n) doze(int i) "leaves"; foreach i in [0:1] { trace(doze(i)); }',
}


@pytest.mark.parametrize(
    ("what", "ranks"),
    [
        ("a loop", 1),
        ("a recursion", 3),
        ("tasks one by one", 3),
        ("a leaf that computes", 3),
        ("a leaf that sleeps", 3),
    ],
)
def test_a_script_without_end_is_interrupted(tmp_path, what, ranks):
    (tmp_path / "leaves.py").write_text(LEAVES)
    (tmp_path / "endless.swift").write_text(BEGUN + SCRIPTS[what])
    command = [sys.executable, "-m", "fluvial", "run", "-n", str(ranks), "endless.swift"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        wait_until((tmp_path / "begun").exists)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "Traceback" not in said
    assert said.endswith("fluvial: stopped by SIGINT\n")
    at = r"was interrupted: \d+ tasks and \d+ iterations were under way, \d+ statements waited"
    lines = len(re.findall(at, said))
    assert lines == 1 or (lines == 0 and ranks > 1)  # another rank may end the job first
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".fluvial-swift")]
    assert left == []
    assert re.fullmatch(r"(fluvial: .*\n)+", said)
