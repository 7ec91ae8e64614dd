# SPDX-License-Identifier: Apache-2.0
"""Compiles the contestants that are C++ programs, each once for this machine and its sources."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.native import compile_once
from bench.options import BUILD, ROOT

_PROGRAMS = Path(__file__).with_name("programs")
_FOLDER = BUILD / "bench" / "programs"
_SOURCES = ROOT / "src"
_FLAGS = ("-std=c++20", "-O3", "-march=native", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
_OPEN_MPI_OPTIONS = ("--oversubscribe", "--bind-to", "none")
MPICH, OPEN_MPI = "mpich", "openmpi"
# variables that Open MPI's launcher wants to see of root
ROOT_MAY_LAUNCH = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Program:
    """A compiled program and the launcher of its MPI; or the reason why there is none."""

    path: Path | None
    launcher: tuple[str, ...] = ()
    missing: str = ""


def limit() -> Program:
    """Return the bare loops: no MPI, no code of Fluvial."""
    return _program("limit", _PROGRAMS / "limit.cpp", [], ["-ldeflate"])


def with_mpich() -> Program:
    """Return the traditional ways under the MPICH wheel, without PnetCDF."""
    prefix = Path(sys.prefix)
    library = prefix / "lib" / "libmpi.so"
    if not library.exists():
        return Program(None, missing=f"no MPICH in {prefix}: pip install mpich")
    flags = [f"-I{prefix / 'include'}"]
    libraries = [str(library), f"-Wl,-rpath,{prefix / 'lib'}"]
    launcher = (str(prefix / "bin" / "mpiexec"),)
    return _program("traditional_mpich", _PROGRAMS / "traditional.cpp", flags, libraries, launcher)


def with_open_mpi() -> Program:
    """Return the traditional ways and PnetCDF under Open MPI, as Debian has them."""
    source = _PROGRAMS / "traditional.cpp"
    if not Path("/usr/include/pnetcdf.h").exists():
        return _not_installed("libpnetcdf-dev")
    return _of_open_mpi("traditional_openmpi", source, ["-DWITH_PNETCDF"], ["-lpnetcdf"])


def with_parallel_hdf5(name: str, source: Path) -> Program:
    """Return a program under Open MPI with the parallel libhdf5 that Debian has for it."""
    known = ("pkg-config", "--cflags", "--libs", "hdf5-openmpi")
    try:
        found = subprocess.run(known, capture_output=True, text=True, check=False)
    except OSError:
        return _not_installed("pkg-config")
    if found.returncode != 0:
        return _not_installed("libhdf5-openmpi-dev")
    words = shlex.split(found.stdout)
    flags = [word for word in words if word.startswith("-I")]
    return _of_open_mpi(name, source, flags, [word for word in words if word not in flags])


def _not_installed(package: str) -> Program:
    packages = f"libopenmpi-dev openmpi-bin {package}".rstrip()
    return Program(None, missing=f"not installed: sudo apt-get install {packages}")


def _of_open_mpi(name: str, source: Path, flags: list[str], libraries: list[str]) -> Program:
    compiler, launcher = shutil.which("mpicc.openmpi"), shutil.which("mpiexec.openmpi")
    if compiler is None or launcher is None:
        return _not_installed("")
    words = {
        what: shlex.split(
            subprocess.run(
                [compiler, f"--showme:{what}"], capture_output=True, text=True, check=True
            ).stdout
        )
        for what in ("compile", "link")
    }
    return _program(
        name,
        source,
        [*flags, *words["compile"]],
        [*words["link"], *libraries],
        (launcher, *_OPEN_MPI_OPTIONS),
    )


def engine() -> Program:
    """Return Fluvial's scan from C++."""
    return with_fluvial("engine", _PROGRAMS / "engine.cpp")


def with_fluvial(name: str, source: Path, mpi: str = MPICH, also: Sequence[str] = ()) -> Program:
    """Return a program that is linked with the library which `./run build` installed for `mpi`.

    `also`: names of a library for pkg-config, of which the first that it knows is used, too.
    """
    prefix = BUILD / mpi / "prefix"
    pkgconfig = prefix / "lib" / "pkgconfig"
    if not (pkgconfig / "fluvial.pc").exists():
        return Program(None, missing=f"{prefix} has no library: ./run build")
    done = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "--static", "fluvial"],
        capture_output=True,
        text=True,
        check=False,
        env={"PKG_CONFIG_PATH": str(pkgconfig), "PATH": "/usr/bin:/bin"},
    )
    if done.returncode != 0:
        return Program(None, missing=f"pkg-config does not find Fluvial: {done.stderr.strip()}")
    words = shlex.split(done.stdout)
    known = (shutil.which("pkg-config") or "pkg-config", "--cflags", "--libs")
    for package in also:
        found = subprocess.run([*known, package], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            words += shlex.split(found.stdout)
            break
    # The library's file is named too, so that a new one makes a new program.
    library = str(prefix / "lib" / "libfluvial.a")
    # Headers that are not installed are the checkout's: some benches call what no program should.
    words.append(f"-I{_SOURCES}")
    return _program(name, source, [f"-I{_PROGRAMS}"], [library, *words], _launcher(mpi))


def _launcher(mpi: str) -> tuple[str, ...]:
    if mpi == MPICH:
        return (str(Path(sys.prefix) / "bin" / "mpiexec"),)
    return (shutil.which("mpiexec.openmpi") or "mpiexec", *_OPEN_MPI_OPTIONS)


def _program(
    name: str,
    source: Path,
    flags: list[str],
    libraries: list[str],
    launcher: tuple[str, ...] = (),
) -> Program:
    headers = sorted({*_PROGRAMS.glob("*.hpp"), *source.parent.glob("*.hpp")})
    try:
        path = compile_once(_FOLDER, name, source, headers, [*_FLAGS, *flags], libraries)
    except RuntimeError as error:
        return Program(None, missing=f"{source.name} does not compile: {_first_error(str(error))}")
    return Program(path, launcher)


def _first_error(text: str) -> str:
    """Return the compiler's first complaint, or the last line when none is recognised."""
    lines = text.strip().splitlines()
    found = [line for line in lines if "error" in line or "undefined reference" in line]
    return (found or lines)[-1 if not found else 0].strip()
