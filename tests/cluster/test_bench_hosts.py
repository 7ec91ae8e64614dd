# SPDX-License-Identifier: Apache-2.0
"""The two hosts on which `./run bench stage --hosts` measures."""

import os
import subprocess

import pytest
from harness.box import Box, NoBox

from bench.record import Metric
from bench.stage.hosts import figures as contest
from bench.stage.hosts.namespaces import Hosts, NoHostsError


def namespaces():
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def root():
    try:
        Box(1).close()
    except NoBox as missing:
        pytest.skip(str(missing))


def test_they_have_names_and_addresses_and_leave_nothing(root):
    with Hosts() as hosts:
        said = [
            subprocess.run(
                [*hosts.on(side), "sh", "-c", "hostname; hostname -I 2>/dev/null || ip -o addr"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for side in (0, 1)
        ]
        for side in (0, 1):
            name = os.path.basename(hosts.files[side])
            assert said[side].startswith(name) and name in namespaces()
            assert hosts.addresses[side] in said[side]
    assert name not in namespaces()


def test_who_is_not_root_is_told(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoHostsError, match="only root"):
        Hosts()


def test_a_ratio_needs_both_and_sst_is_its_better_setting():
    figures = contest.Figures()
    figures.add(contest.PYTHON, contest.THROUGHPUT, 8, 3.0)
    assert figures.ratio(contest.PYTHON, contest.THROUGHPUT, 8, contest.SST) is None
    figures.add(contest.SST_ON, contest.THROUGHPUT, 8, 0.5)
    figures.add(contest.SST_OFF, contest.THROUGHPUT, 8, 1.5)
    assert figures.ratio(contest.PYTHON, contest.THROUGHPUT, 8, contest.SST) == 2.0
    assert figures.sample(contest.TCP, Metric("none", "", True), 8) is None
    (record,) = [one for one in contest.records(figures) if one.peer == contest.SST]
    assert (record.case, record.ratio, record.params["hosts"]) == ("hosts: put, TCP, Python", 2, 2)
