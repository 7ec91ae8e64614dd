# SPDX-License-Identifier: Apache-2.0
import sys
import venv
from pathlib import Path

from bench import peers


def test_a_peer_that_is_installed_already_is_taken_as_it_is(tmp_path):
    venv.create(tmp_path, with_pip=False)
    found = peers.provide(tmp_path, "json", "no-such-requirement")
    assert found.present
    assert found.python == tmp_path / "bin" / "python"


def test_a_peer_that_cannot_be_installed_is_missing_with_the_reason(tmp_path):
    venv.create(tmp_path, with_pip=False)
    found = peers.provide(tmp_path, "no_such_package", "no-such-requirement")
    assert not found.present
    assert "could not install no-such-requirement" in found.missing
    assert "No module named pip" in found.missing


def test_an_environment_that_cannot_be_made_is_a_missing_peer_too(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = peers.provide(blocked / "peers", "no_such_package", "no-such-requirement")
    assert not found.present
    assert "no-such-requirement" in found.missing


def test_a_package_here_is_found_through_the_variables_given(tmp_path):
    (tmp_path / "only_here.py").write_text("__version__ = '1.2'\n")
    assert not peers.present_here("only_here", {}).present
    found = peers.present_here("only_here", {"PYTHONPATH": str(tmp_path)})
    assert found.python == Path(sys.executable)
    assert found.version == "1.2"
