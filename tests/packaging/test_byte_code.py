# SPDX-License-Identifier: Apache-2.0
"""Modules are installed with their byte code, also for processes that must not write it."""

import importlib.util
import marshal
import os
import subprocess

import pytest


@pytest.mark.parametrize("staged", [False, True])
def test_every_module_is_compiled_when_it_is_installed(prefix, tmp_path, staged):
    where = "/opt/fluvial" if staged else tmp_path
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    env |= {"PYTHONDONTWRITEBYTECODE": "1"} | ({"DESTDIR": str(tmp_path)} if staged else {})
    command = ["cmake", "--install", prefix.parent, "--prefix", where, "--component", "python"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    root = tmp_path / "opt" / "fluvial" if staged else tmp_path
    modules = list((root / "site" / "fluvial").rglob("*.py"))
    assert modules
    for module in modules:
        with open(importlib.util.cache_from_source(str(module)), "rb") as file:
            file.seek(16)  # behind the header of PEP 552
            code = marshal.load(file)
        assert code.co_filename == f"{where}/{module.relative_to(root)}"
