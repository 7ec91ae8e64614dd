# SPDX-License-Identifier: Apache-2.0
"""`./run test`: every test under every MPI flavour, and one summary.

Runs the C++ tests (CTest) and the Python tests (pytest) of each flavour and ends with the line
``N passed, N failed`` over everything. A runner that crashes, or that finds no test where none was
asked for by a pattern, counts as one failed test.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
FLAVOURS = {
    "mpich": pathlib.Path(sys.prefix, "bin", "mpiexec"),
    "openmpi": pathlib.Path(shutil.which("mpiexec.openmpi") or "mpiexec.openmpi"),
}


@dataclass
class Tally:
    """What one runner reported."""

    runner: str
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, name: str, case: ET.Element) -> None:
        if case.get("status") in ("fail", "notrun") or any(
            case.find(tag) is not None for tag in ("failure", "error")
        ):
            self.failed.append(f"{self.runner}: {name}")
        elif case.find("skipped") is not None or case.get("status") == "disabled":
            self.skipped += 1
        else:
            self.passed += 1

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return (
            f"  {self.runner:<20} {self.passed:5d} passed, {len(self.failed)} failed{skipped}"
            f"   ({self.seconds:.1f} s)"
        )


def run(runner: str, command: list[str], report: pathlib.Path, env: dict[str, str], empty_ok: bool):
    """Run one runner and tally its JUnit report."""
    print(f"\n=== {runner}", flush=True)
    report.unlink(missing_ok=True)
    tally = Tally(runner)
    start = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    tally.seconds = time.monotonic() - start
    try:
        cases = list(ET.parse(report).getroot().iter("testcase"))
    except (OSError, ET.ParseError) as error:
        tally.failed.append(f"{runner}: the runner ended with code {code} and no report ({error})")
        return tally
    for case in cases:
        place = case.get("classname", "").replace(".", "/")
        name = case.get("name", "?")
        tally.add(name if place in ("", name) else f"{place}::{name}", case)
    if not cases and not empty_ok:
        tally.failed.append(f"{runner}: no test was found")
    elif code not in (0, 5) and not tally.failed:
        tally.failed.append(f"{runner}: the runner ended with code {code}")
    return tally


def ctest(flavour: str, options: argparse.Namespace, tests: str | None = None) -> Tally:
    """Run the C++ tests of a build; of `tests`, a pattern, alone."""
    report = BUILD / flavour / "ctest.xml"
    command = [
        "ctest",
        "--test-dir",
        str(BUILD / flavour),
        "--output-on-failure",
        "--no-tests=ignore",
    ]
    # Two more than there are cores: many of these tests wait for half of their time.
    command += ["--output-junit", str(report), "-j", str((os.cpu_count() or 1) + 2)]
    if tests or options.k:
        command += ["-R", options.k or tests]
    return run(f"C++ {flavour}", command, report, environment(flavour), bool(options.k))


def pytest(flavour: str, options: argparse.Namespace) -> Tally:
    """Run the Python tests of a flavour, one on each core."""
    report = BUILD / flavour / "pytest.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "--durations=5"]
    command += ["-n", str(os.cpu_count() or 1), "--dist", "worksteal"]
    if options.k:
        command += ["-k", options.k]
    marks = [m for m in (options.m, "" if flavour == "mpich" else "any_mpi") if m]
    if marks:
        command += ["-m", " and ".join(f"({mark})" for mark in marks)]
    command += options.pytest
    empty_ok = bool(options.k or options.m or options.pytest)
    return run(f"Python {flavour}", command, report, environment(flavour), empty_ok)


def sanitized(options: argparse.Namespace) -> Tally:
    """Run the C++ tests of the floors that have a build with sanitizers."""
    # MPI keeps memory until the process ends, so leaks are looked for elsewhere (tests/faults).
    # An absurd size, of which libhdf5 takes some from damaged files, gets no memory, as without.
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1")
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    return ctest("asan", options, "^(base|describe|compute|store|scan)(_|@|$)")


def portable(options: argparse.Namespace) -> list[Tally]:
    """Run the C++ tests of another compiler's build and of another CPU's."""
    return [ctest("clang", options), ctest("aarch64", options)]


def environment(flavour: str) -> dict[str, str]:
    """Return the environment in which the tests of a flavour run."""
    prefix = BUILD / flavour / "prefix"
    return os.environ | {
        "FLUVIAL_FLAVOUR": flavour,
        "FLUVIAL_MPIEXEC": str(FLAVOURS.get(flavour, FLAVOURS["mpich"])),
        "FLUVIAL_PREFIX": str(prefix),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(prefix / "site"), os.environ.get("PYTHONPATH")])
        ),
    }


_WORDS = {"--sanitized": "sanitize", "--portable": "portable", "--cluster": "cluster"}
_OF_WORDS = {
    "test": "every test under every MPI flavour, and one summary.",
    "sanitize": "C++ tests with the address and undefined-behaviour sanitizers.",
    "portable": "C++ tests built by clang++ and, those without MPI, for 64-bit ARM.",
    "cluster": "tests on hosts that are namespaces of this machine; they need root and ip(8).",
}
"""What `--help` says of each word; ./run gives the options by which they are known."""


def main() -> int:
    word = next((word for option, word in _WORDS.items() if option in sys.argv), "test")
    parser = argparse.ArgumentParser(
        prog=f"./run {word}", description=f"`./run {word}`: {_OF_WORDS[word]}"
    )
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose names match")
    parser.add_argument("-m", metavar="MARKS", help="only Python tests with these pytest marks")
    for option in _WORDS:
        parser.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="only under the default MPI (MPICH)")
    parser.add_argument("--only", choices=("cpp", "python"), help="only one kind of test")
    parser.add_argument("pytest", nargs="*", help="further arguments for pytest, after --")
    options = parser.parse_args()
    if options.cluster:  # what is left out is named, with the reason
        options.only, options.pytest = "python", ["tests/cluster", "-rs", *options.pytest]

    tallies = [sanitized(options)] if options.sanitized else []
    tallies += portable(options) if options.portable else []
    special = options.sanitized or options.portable
    for flavour in [] if special else ["mpich"] if options.quick else list(FLAVOURS):
        if options.only != "python" and not options.m:
            tallies.append(ctest(flavour, options))
        if options.only != "cpp":
            tallies.append(pytest(flavour, options))

    failed = [name for tally in tallies for name in tally.failed]
    passed = sum(tally.passed for tally in tallies)
    if not passed and not failed:
        failed = ["no test matched"]
    print("\n=== summary")
    print(*tallies, sep="\n")
    for name in failed:
        print(f"  FAILED {name}")
    print(f"{passed} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
