# SPDX-License-Identifier: Apache-2.0
import sys

import pytest
from fluvial.swift import leaf_functions
from harness.swift_script import SwiftScript


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Scripts in the working directory; what they import is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield SwiftScript(tmp_path)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    leaf_functions._module.cache_clear()


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
