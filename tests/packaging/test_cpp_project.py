# SPDX-License-Identifier: Apache-2.0
"""A C++ project outside the tree finds the installed library, by CMake and by pkg-config."""

import os
import pathlib
import re
import subprocess

import pytest

import fluvial as fl

pytestmark = pytest.mark.any_mpi

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "01_cpp_project"
# What strict programs are compiled with: the headers have none of these.
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wsign-conversion", "-Werror"]
# Templates are looked at where they are used.
TEMPLATES = {
    "compute": """
#include <fluvial/compute/apply.hpp>
const auto speed = fluvial::compute::make_apply<double, 2>(
    [](double x, double y) { return x * x + y * y; }, fluvial::compute::make_operator("max"));
""",
    "stream": """
void send(fluvial::stream::Stream& stream) { stream.put(1.5); }
const auto batches = fluvial::stream::make_batches<double>([](std::span<const double>) {});
const auto elements = fluvial::stream::make_elements<double>([](double) {});
""",
}


def run(*command, **options):
    result = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def outputs_on_ranks(launcher, program, ranks):
    with launcher.start(ranks, [str(program)], timeout=30, stdout=subprocess.PIPE) as job:
        output = job.process.communicate(timeout=60)[0].decode()
    assert job.wait() == 0
    return output


def installed_headers(prefix):
    folder = prefix / "include" / "fluvial"
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.h*")}


@pytest.mark.parametrize("verb", ["compute", "flow", "route", "scan", "stage", "stream"])
def test_the_header_of_a_verb_compiles_alone(prefix, tmp_path, verb):
    program = f"#include <fluvial/{verb}.hpp>\n{TEMPLATES.get(verb, '')}"
    (tmp_path / "alone.cpp").write_text(program)
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "fluvial", env=env).split()
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, tmp_path / "alone.cpp"]
    run(*command, *flags)


def test_every_header_of_the_reference_is_installed(prefix):
    installed = installed_headers(prefix)
    for page in (ROOT / "docs" / "reference" / "cpp").glob("*.md"):
        described = re.findall(r"{doxygenfile} (\S+)", page.read_text())
        assert described, page
        for header in described:
            name = f"/{header}"
            found = any(f"/fluvial/{path}".endswith(name) for path in installed)
            assert found, f"{page.name}: {header}"


def test_no_header_of_a_test_is_installed(prefix):
    for name, path in installed_headers(prefix).items():
        assert not re.search("fixture|conformance|exercise|trials|reference", name)
        assert "doctest" not in path.read_text(), name


def test_find_package(prefix, launcher, tmp_path):
    run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert (
        outputs_on_ranks(launcher, tmp_path / "slabs", 3) == "3 ranks hold 8000 of 8000 elements\n"
    )


def test_another_minor_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(Later LANGUAGES CXX)\n"
        "find_package(Fluvial 0.2 REQUIRED)\n"
    )
    result = subprocess.run(
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            tmp_path,
            "-B",
            tmp_path / "b",
            f"-DCMAKE_PREFIX_PATH={prefix}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert fl.__version__ in result.stderr


def test_pkg_config(prefix, launcher, tmp_path):
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--static", "--cflags", "--libs", "fluvial", env=env).split()
    compiler = os.environ.get("CXX", "c++")
    run(compiler, "-std=c++20", EXAMPLE / "slabs.cpp", "-o", tmp_path / "slabs", *flags)
    assert (
        outputs_on_ranks(launcher, tmp_path / "slabs", 2) == "2 ranks hold 8000 of 8000 elements\n"
    )
    assert run("pkg-config", "--modversion", "fluvial", env=env) == f"{fl.__version__}\n"
