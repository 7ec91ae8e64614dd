# SPDX-License-Identifier: Apache-2.0
import pytest
from harness.swift_script import SwiftScript


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Scripts in the working directory."""
    monkeypatch.chdir(tmp_path)
    return SwiftScript(tmp_path)


@pytest.fixture
def figure_9():
    """The script of the paper's Figure 9, as it stands there."""
    return """\
// Define call to OSUFlow feature MpiDraw
@par (float t) mpidraw(int bf) "mpidraw";

main {
  foreach b in [0:7] {
    // Block factor: 1-128
    int bf = round(2**b);
    foreach n in [4:9] {
      // Number of processes/task: 16-512
      int np = round(2**n);
      float t = @par=np mpidraw(bf);
      printf("RESULT: bf=%i np=%i -> time=%0.3f",
            bf, np, t);
    }
  }
}
"""
