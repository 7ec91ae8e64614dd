# SPDX-License-Identifier: Apache-2.0
"""What the project states about itself: its version, how to cite it, where its files are."""

import pathlib
import re
import tomllib

import fluvial as fl

OF_DEVELOPERS = {"demo", "bench", "test", "docs"}
"""Extras that ./run installs."""
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^ +VERSION ([\d.]+)$", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def test_extras_of_users_are_explained_and_readme_installs_what_its_programs_need():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    install = (ROOT / "docs" / "install.md").read_text()
    explained = set(re.findall(r"^\| `(\w+)` \| ", install.split("\n## C++")[0], flags=re.M))
    assert explained == set(extras["optional-dependencies"]) - OF_DEVELOPERS
    # The tasks that they show are of functions of the program itself.
    for page in (install, (ROOT / "README.md").read_text()):
        assert re.search(r"pip install '\.\[files,flow\]'", page)


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    source = project["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(source["regex"], (ROOT / source["input"]).read_text(), re.M)
    assert found["value"] == VERSION == fl.__version__


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == VERSION
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## ([\d.]+)", changes, re.M)[1] == VERSION


def test_the_papers_that_are_cited_are_those_of_readme():
    readme = " ".join((ROOT / "README.md").read_text().split())
    citation = (ROOT / "CITATION.cff").read_text()
    titles = re.findall(r"^    title: (.*)$", citation, re.M)
    dois = re.findall(r"^    doi: (.*)$", citation, re.M)
    assert len(titles) == 5
    assert [text for text in (*titles, *dois) if text not in readme] == []


def test_readme_links_to_files_that_exist():
    for page in ("README.md", "SECURITY.md", "CONTRIBUTING.md"):
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
        assert links and [link for link in links if not (ROOT / link).exists()] == []
