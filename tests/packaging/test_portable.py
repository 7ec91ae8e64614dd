# SPDX-License-Identifier: Apache-2.0
"""The parts that need neither MPI nor HDF5, built by themselves, and for 64-bit ARM.

The presets are those of CMakePresets.json; ``./run portable`` builds everything by clang++, and for
ARM all parts that can be built, which takes too long for every run of the tests.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build"
NEEDS = {
    "plain": (),
    "aarch64": ("aarch64-linux-gnu-g++", "qemu-aarch64"),
}
FLOORS = ("base_error", "describe_region", "compute_kernels", "store_netcdf_classic")
# As the builds of ./run, up to eight sources are one, which ccache then knows from there. For an
# emulated CPU, -O3 takes long to compile, and the code is no faster.
QUICK = {
    "plain": ("-DCMAKE_UNITY_BUILD=ON",),
    "aarch64": ("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",),
}
# A test of each floor. Most others are the same objects as those of the build with MPI, whose tests
# run anyway; those of store depend on what the library was built without.
TARGETS = {"plain": ("fluvial", "tests_of_store", *FLOORS), "aarch64": FLOORS}
RUN = {"plain": ("store_.*", *FLOORS), "aarch64": FLOORS}
PROGRAM = """
#include <fluvial/compute.hpp>
#include <fluvial/distribute.hpp>
#include <fluvial/route.hpp>
#include <fluvial/store/formats.hpp>
#include <iostream>

int main(int, char** files) {
    using namespace fluvial;
    const double x[] = {1, 2, 4};
    const ArrayView view(x, DType::Float64, {3});
    const auto domain = compute::make_domain(whole({3}), {}, {DType::Float64});
    compute::Reduction reduction({{"sum", compute::make_operator("sum"), {}}}, domain);
    reduction.absorb({std::span(&view, 1), whole({3})});
    std::cout << reduction.finish().at("sum").at("value").as<double>()[0] << std::endl;
    try {
        store::open_file(files[1]);
    } catch (const InvalidArgument& error) {
        std::cout << error.what() << std::endl;
    }
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(Plain LANGUAGES CXX)
find_package(Fluvial 0.1 REQUIRED COMPONENTS ${wanted})
message(STATUS "MPI ${Fluvial_MPI_FOUND}, HDF5 ${Fluvial_HDF5_FOUND}")
add_executable(plain plain.cpp)
target_link_libraries(plain PRIVATE Fluvial::fluvial)
"""


def run(*command, fails=False, **options):
    """Run a command; return what it printed."""
    env = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"} | os.environ
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **{"env": env, "cwd": ROOT} | options,
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def built(preset):
    """Configure and build a preset; return its folder."""
    missing = [program for program in NEEDS[preset] if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}")
    # As deep as the builds of ./run, and with their flags: so ccache knows by its relative paths
    # what they have compiled.
    folder = BUILD / f"portable-{preset}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:  # tests of one build may run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        configure = (
            "cmake",
            "--preset",
            preset,
            "-B",
            folder,
            "-DFLUVIAL_WERROR=OFF",
            *QUICK[preset],
        )
        run(*configure, f"-DPython_EXECUTABLE={sys.executable}")
        run("ninja", "-C", folder, "-j", os.cpu_count() or 1, *TARGETS[preset])
    return folder


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("preset", NEEDS)
def test_a_build_without_mpi_passes_its_tests(preset):
    folder = built(preset)
    command = ("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")
    only = f"^({'|'.join(RUN[preset])})$"
    printed = run(*command, "-j", os.cpu_count() or 1, "-R", only)
    assert "100% tests passed" in printed, printed
    for floor in FLOORS:
        assert f" {floor} " in printed, printed


@pytest.fixture(scope="module")
def plain_prefix(tmp_path_factory):
    """Where the build without MPI and HDF5 is installed."""
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", built("plain"), "--prefix", prefix)
    return prefix


def project_in(folder, wanted):
    folder.mkdir()
    (folder / "plain.cpp").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(PROJECT.replace("${wanted}", wanted))
    (folder / "t.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    return folder


def output_of(program, folder):
    printed = run(program, folder / "t.nc").splitlines()
    assert printed[0] == "7"
    assert "built without HDF5" in printed[1] and "-DFLUVIAL_HDF5=ON" in printed[1], printed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_package_says_what_it_has(plain_prefix, tmp_path):
    folder = project_in(tmp_path / "p", "")
    configure = ("cmake", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={plain_prefix}", "-S")
    assert "MPI OFF, HDF5 OFF" in run(*configure, folder, "-B", folder / "b")
    run("cmake", "--build", folder / "b")
    output_of(folder / "b" / "plain", folder)

    folder = project_in(tmp_path / "q", "MPI")
    printed = run(*configure, folder, "-B", folder / "b", fails=True)
    assert "no component MPI" in printed and "-DFLUVIAL_MPI=ON" in printed, printed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pkg_config_says_what_the_library_has(plain_prefix, tmp_path):
    env = os.environ | {"PKG_CONFIG_PATH": str(plain_prefix / "lib" / "pkgconfig")}
    assert run("pkg-config", "--variable=mpi", "fluvial", env=env) == "OFF\n"
    assert run("pkg-config", "--variable=hdf5", "fluvial", env=env) == "OFF\n"
    flags = run("pkg-config", "--static", "--cflags", "--libs", "fluvial", env=env).split()
    folder = project_in(tmp_path / "p", "")
    run("c++", "-std=c++20", folder / "plain.cpp", "-o", folder / "plain", *flags)
    output_of(folder / "plain", folder)
    headers = {path.name for path in (plain_prefix / "include" / "fluvial").glob("*.hpp")}
    assert headers == {"compute.hpp", "distribute.hpp", "route.hpp"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("FLUVIAL_PYTHON=ON", "FLUVIAL_MPI=OFF"),
            ("Python package needs MPI", "=ON"),
        ),
        (("FLUVIAL_HDF5_GUARD=ON", "FLUVIAL_HDF5=OFF"), ("nothing to guard", "FLUVIAL_HDF5=ON")),
    ],
)
def test_options_that_cannot_be_together_are_named(options, words, tmp_path):
    given = [f"-D{option}" for option in options]
    printed = run("cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, *given, fails=True)
    for word in (*options, *words):
        assert word in " ".join(printed.split()), printed
