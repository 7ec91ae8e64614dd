# SPDX-License-Identifier: Apache-2.0
import sys
import time

import pytest
from fluvial.launch import Launcher

from demo.jobs import JobFailedError, Program, read_errors, run_together, tail

SPEAK = """
from demo.progress import emit
emit("ready", version="1")
print("something else")
emit("output", step=1)
emit("finished", bytes=5)
"""
FAIL = "import sys; print('a last word', file=sys.stderr); raise ValueError('no such crystal')"
LINGER = "import time; time.sleep(600)"
LOSE_PEER = """
import time
class PeerLost(Exception): pass
time.sleep(0.3)
raise PeerLost('the writer is gone')
"""


class Listener:
    def __init__(self):
        self.heard = []

    def phase(self, title, jobs):
        pass

    def event(self, job, event):
        self.heard.append((job, event["event"]))


@pytest.fixture
def run(tmp_path):
    """Run programs given as name=source, each on one rank; returns outcomes and what was heard."""

    def run(**sources):
        programs = []
        for name, source in sources.items():
            path = tmp_path / f"{name}.py"
            path.write_text(f"import sys; sys.path[:0] = {sys.path!r}\n{source}")
            programs.append(Program(name, 1, (str(path),)))
        listener = Listener()
        return run_together(programs, Launcher.detect(), tmp_path, listener), listener.heard

    return run


def test_events_reach_the_view_and_the_rest_the_log(run, tmp_path):
    outcomes, heard = run(one=SPEAK, two=SPEAK)
    for name in ("one", "two"):
        assert [event for job, event in heard if job == name] == ["ready", "output", "finished"]
        outcome = outcomes[name]
        assert outcome.figures["version"] == "1" and outcome.figures["bytes"] == 5
        assert outcome.launched < outcome.ready <= outcome.first_output <= outcome.finished
        assert (tmp_path / f"{name}.log").read_text() == "something else\n"


def test_a_failure_ends_the_other_job_and_tells_why(run):
    began = time.monotonic()
    with pytest.raises(JobFailedError) as caught:
        run(good=LINGER, bad=FAIL)
    assert time.monotonic() - began < 30
    message = str(caught.value)
    assert message.startswith("the bad failed with exit code 1\n  ValueError: no such crystal\n")
    assert "bad.log" in message and "a last word" in message
    assert "the good failed" not in message


def test_the_cause_is_told_before_the_effect(run):
    with pytest.raises(JobFailedError) as caught:
        run(reader=LOSE_PEER, writer="import time; time.sleep(1); raise ValueError('bug')")
    message = str(caught.value)
    assert message.index("the writer failed") < message.index("the reader failed")


def test_errors_are_read_from_tracebacks(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "noise\nTraceback (most recent call last):\n  File x\n    y\nKeyError: 'a'\n"
        "During handling\nTraceback (most recent call last):\n  File z\nValueError: b\n"
        "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n"
    )
    assert read_errors(log) == ["KeyError: 'a'", "ValueError: b"]
    assert read_errors(tmp_path / "none") == []


def test_the_tail_is_the_last_lines_without_empty_ones(tmp_path):
    log = tmp_path / "log"
    log.write_text("\n\n".join(map(str, range(100))) + "\n\n")
    assert tail(log, 3) == ["97", "98", "99"]
    assert tail(tmp_path / "none") == []
