# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a rank of a program in C, whose other ranks do nothing but MPIStream_Test."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

# As in test_channel_killed.py: each rank is the child of a shell.
SHELL = """
"$@"
for _ in $(seq 400); do [ "$(ls "$SEEN" | wc -l)" -ge 2 ] && exit; sleep 0.1; done
"""


@pytest.mark.timeout(90)
def test_ranks_that_only_test_learn_of_it(launcher, prefix, tmp_path):
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = subprocess.check_output(
        ["pkg-config", "--static", "--cflags", "--libs", "fluvial"], env=env, text=True
    )
    program, seen = tmp_path / "tester", tmp_path / "seen"
    seen.mkdir()
    source = Path(__file__).with_name("tester_in_c.c")
    compiler = [shutil.which("cc") or "cc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, "-o", program, source, *shlex.split(flags)], check=True)
    argv = launcher.command(3, ["sh", "-c", SHELL, "sh", str(program), str(seen)])
    environment = launcher.environment({"SEEN": str(seen)})
    subprocess.run(argv, env=environment, timeout=60, capture_output=True, check=False)
    told = {path.name: path.read_text() for path in seen.iterdir()}
    died = "rank 0 of 3: the process died"
    assert told == {"rank-1": died, "rank-2": died}
