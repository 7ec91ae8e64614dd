# SPDX-License-Identifier: Apache-2.0
"""The command under mpiexec: what is the same on all ranks is printed by the first."""

import json
import sys

import pytest
from fluvial.launch import Launcher

HELP = [["--help"], [], ["pipe", "--help"], ["route", "plan", "--help"], ["--version"]]
MISTAKES = [["pipe"], ["nosuch"], ["ls", "--nosuch", "x.h5"], ["route", "nosuch"]]
EACH_RANK = """
import json, os, subprocess, sys
ranks = (os.environ.get(name) for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"))
found = []
for words in json.loads(sys.argv[1]):
    command = [sys.executable, "-m", "fluvial", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found.append((done.returncode, done.stdout + done.stderr))
with open(f"rank{next(rank for rank in ranks if rank is not None)}", "w") as file:
    json.dump(found, file)
"""


@pytest.mark.any_mpi
def test_ranks_print_help_and_errors_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = [sys.executable, "-c", EACH_RANK, json.dumps(HELP + MISTAKES)]
    with Launcher.detect().start(2, job, timeout=100) as running:
        assert running.wait() == 0
    first, second = (json.loads((tmp_path / f"rank{rank}").read_text()) for rank in (0, 1))
    assert [code for code, _ in first] == [code for code, _ in second]
    for words, (code, said), (_, again) in zip(HELP + MISTAKES, first, second, strict=True):
        assert code == 2 if words in MISTAKES else code in (0, 2), words
        assert "Usage:" in said or "fluvial " in said, words
        assert again == "", words
