# SPDX-License-Identifier: Apache-2.0
"""After every fault nothing may be left: no shared memory in any process, no file in /dev/shm."""

import pytest
from faults.traces import files_in_shm, shared_memory_of, stream_name
from harness import wait_until


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path):
    name = stream_name(tmp_path)
    before = files_in_shm(name)
    assert shared_memory_of(name) == []
    yield
    # A killed process gives its memory up when it is reaped; wait that long and no longer.
    wait_until(lambda: shared_memory_of(name) == [], timeout=10, what="shared memory to vanish")
    assert files_in_shm(name) == before


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of streams that say none."""
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    return tmp_path
