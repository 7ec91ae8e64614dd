# SPDX-License-Identifier: Apache-2.0
"""The recipes of CONTRIBUTING.md work as they are written."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text()

# What the registry and conformance_test.cpp do with the operator's registration.
REGISTRY = """
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "fluvial/compute/conformance.hpp"
#include "fluvial/compute/registry.hpp"

namespace fluvial::compute {
Registration register_geometric_mean();
}
using namespace fluvial;
using namespace fluvial::compute;

TEST_CASE("any split in any order") {
    const Registration entry = register_geometric_mean();
    const OperatorPtr op = entry.make(entry.example);
    CHECK(op->name() == entry.name);
    Conformance(*op, 1).run({.dtypes = {DType::Float32, DType::UInt16}, .tolerance = 1e-12});
}

TEST_CASE("a value known by hand") {
    const double x[] = {1, 10, 100};
    const Domain domain = make_domain(whole({3}), {}, {DType::Float64});
    const auto partial = register_geometric_mean().make({})->identity(domain);
    const ArrayView view(x, DType::Float64, {3});
    partial->absorb({std::span(&view, 1), whole({3})});
    CHECK(*partial->finish().at("value").as<double>() == doctest::Approx(10).epsilon(1e-14));
}
"""


def blocks(language):
    """The fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", RECIPES, flags=re.DOTALL)


@pytest.mark.slow
def test_the_operator_compiles_and_conforms(prefix, tmp_path):
    (operator,) = [b for b in blocks("cpp") if "register_geometric_mean" in b]
    (tmp_path / "geometric_mean.cpp").write_text(operator)
    (tmp_path / "registry.cpp").write_text(REGISTRY)
    flags = subprocess.check_output(
        ["pkg-config", "--static", "--cflags", "--libs", "fluvial"],
        env=os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")},
        text=True,
    )
    compiler = os.environ.get("CXX", "c++")
    # The conformance suite is a contributor's: it is not installed.
    own_headers = f"-I{ROOT / 'src'}"
    command = [compiler, own_headers, "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    command += ["-o", str(tmp_path / "test")]
    sources = [str(tmp_path / "geometric_mean.cpp"), str(tmp_path / "registry.cpp")]
    compiled = subprocess.run(
        [*command, *sources, *flags.split()], capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr
    ran = subprocess.run([str(tmp_path / "test")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_registry_has_a_line_like_it():
    (line,) = [b.rstrip() for b in blocks("cpp") if b.lstrip().startswith("add(")]
    registry = (ROOT / "src/fluvial/compute/registry.cpp").read_text()
    siblings = re.findall(r"^ +add\(\w+\) *\\$", registry, flags=re.MULTILINE)
    assert re.sub(r"\w+", "x", line.replace("geometric_mean", "sum")).split() in [
        re.sub(r"\w+", "x", sibling).split() for sibling in siblings
    ]


def test_the_scenario_passes(tmp_path):
    (scenario,) = [b for b in blocks("python") if "@scenario" in b]
    (tmp_path / "test_it.py").write_text(scenario)
    pytest_of_the_project = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(ROOT)]
    options = ["-c", str(ROOT / "pyproject.toml"), f"--confcutdir={ROOT}"]
    ran = subprocess.run(
        [*pytest_of_the_project, *options, str(tmp_path / "test_it.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
