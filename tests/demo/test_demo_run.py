# SPDX-License-Identifier: Apache-2.0
"""The demo as a user starts it: it runs, it is stopped, one of its jobs dies. No process stays."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import uuid

import numpy as np
import pytest

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "demo" / "launch.py"
SMALL = ("--atoms", "2000", "--no-live")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Demo:
    """A running demo with a folder for its temporary files, and a mark on all of its processes."""

    def __init__(self, folder, *options):
        self.out, self.temporary = folder / "out", folder / "tmp"
        self.temporary.mkdir()
        self.mark = f"FLUVIAL_DEMO_TEST={uuid.uuid4()}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, str(LAUNCH), *options, "--out", str(self.out)],
            env=os.environ | {name: value, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.printed = ""

    def wait_for(self, pattern):
        """Read on until a line matches."""
        for line in self.process.stdout:
            self.printed += line
            if re.search(pattern, line):
                return
        pytest.fail(f"the demo ended without printing {pattern!r}:\n{self.printed}")

    def finish(self, seconds):
        """Return the exit code and how long the demo took to end."""
        began = time.monotonic()
        self.printed += self.process.communicate(timeout=seconds)[0]
        return self.process.returncode, time.monotonic() - began

    def processes(self):
        """Return pid and command line of every process that the demo started and that lives."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found[int(entry.name)] = (entry / "cmdline").read_text().split("\0")
                except OSError:
                    continue
        return found

    def assert_nothing_left(self):
        assert self.processes() == {}
        assert list(self.temporary.iterdir()) == []
        assert [p.name for p in self.out.iterdir() if p.name.startswith("openpmd")] == []


@pytest.fixture
def start(tmp_path):
    started = []

    def start(*options):
        started.append(Demo(tmp_path, *options))
        return started[-1]

    yield start
    for demo in started:
        for pid in demo.processes():
            os.kill(pid, signal.SIGKILL)
        demo.process.wait()
        demo.process.stdout.close()


def test_it_melts_reports_and_exits_with_0(start):
    demo = start(*SMALL, "--steps", "300", "--ranks", "2,1")
    code, _ = demo.finish(280)
    assert code == 0, demo.printed
    assert demo.printed.count("✓") == 6 and "✗" not in demo.printed
    page = (demo.out / "report.html").read_text()
    assert "the physics is right" in page
    assert "://" not in page, "it links to nothing (base64 may spell http, but no colon)"
    assert {p.name for p in (demo.out / "pictures").iterdir()} >= {"melting.png", "detector.png"}
    with np.load(demo.out / "stream.npz") as stream, np.load(demo.out / "files.npz") as files:
        assert np.array_equal(stream["step"], files["step"]) and len(stream["step"]) > 30
        assert stream["speed_counts"].sum(axis=1) == pytest.approx(2304, abs=2)
        assert np.array_equal(stream["speed_counts"], files["speed_counts"])
    demo.assert_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_both_jobs_and_leaves_nothing(start, number):
    demo = start(*SMALL, "--steps", "30000")
    demo.wait_for(r"analysis +step +[1-9]")
    assert len([c for c in demo.processes().values() if "mpiexec" in c[0]]) == 2
    demo.process.send_signal(number)
    code, seconds = demo.finish(30)
    assert code == 130
    assert seconds < 15
    assert "stopped" in demo.printed
    demo.assert_nothing_left()


@pytest.mark.parametrize(
    ("script", "job"), [("simulate.py", "simulation"), ("analyse.py", "analysis")]
)
def test_a_job_that_dies_is_named_with_the_end_of_its_log(start, script, job):
    demo = start(*SMALL, "--steps", "30000")
    demo.wait_for(r"analysis +step +[1-9]")
    ranks = [
        pid
        for pid, command in demo.processes().items()
        if "mpi4py" in command and any(c.endswith(script) for c in command) and "-n" not in command
    ]
    assert len(ranks) == 2
    os.kill(ranks[0], signal.SIGKILL)
    code, seconds = demo.finish(60)
    assert code == 1
    assert seconds < 30
    failure = demo.printed[demo.printed.index("failed:") :]
    assert failure.startswith(f"failed: the {job} failed with exit code")
    assert f"{job}.log" in failure and "signal 9" in failure
    demo.assert_nothing_left()


@pytest.mark.parametrize(
    "options", [("--atoms", "5"), ("--ranks", "0"), ("--steps", "10"), ("--readers", "-1")]
)
def test_options_that_cannot_work_are_refused_before_anything_starts(start, options):
    demo = start(*options)
    code, _ = demo.finish(60)
    assert code == 2
    assert options[1].lstrip("-") in demo.printed
    assert not demo.out.exists()


def test_an_output_folder_that_cannot_be_made_is_refused(start, tmp_path):
    (tmp_path / "out").write_text("a file")
    demo = start(*SMALL)
    code, _ = demo.finish(60)
    assert code == 2 and "out" in demo.printed
