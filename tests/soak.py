# SPDX-License-Identifier: Apache-2.0
"""`./run soak`: the random tests again and again, each round with new seeds.

A failure prints its seed and the command that repeats it; the rounds go on, and the last line
counts. With `--seeds N` a round has N seeds, and what each test starts (its processes, MPI,
imports) it starts once for all of them. A test goes on with further seeds for `--each` seconds;
the round ends with the list of tests that came to fewer. `--streams` is ten minutes of two writing
and two reading jobs, a policy and a seed each minute; `--kills` kills writers and readers of
streams on a disk and between hosts, and programs with a journal, at 200 moments each.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import secrets
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field

from suite import BUILD, ROOT, environment

REPORTS = {"cpp": BUILD / "mpich" / "soak-ctest.xml", "python": BUILD / "mpich" / "soak-pytest.xml"}


def commands(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the runners of one round, by the kind of their tests."""
    cores = str(os.cpu_count() or 1)
    ctest = ["ctest", "--test-dir", str(BUILD / "mpich"), "-L", "random", "--output-on-failure"]
    ctest += ["-j", cores, "--no-tests=ignore", "--output-junit", str(REPORTS["cpp"])]
    ctest += ["--test-output-size-passed", "1000000"]  # its last line tells the number of seeds
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", "random"]
    pytest += [f"--junitxml={REPORTS['python']}"]
    if options.seeds > 1:
        pytest += ["-n", cores, "--dist", "loadscope"]
    if options.k:
        ctest += ["-R", options.k]
        pytest += ["-k", options.k]
    both = {"cpp": ctest, "python": pytest}
    return {kind: both[kind] for kind in both if options.only in (None, kind)}


def told(output: str) -> list[str]:
    """Return the lines of a runner, without those on tests that began or passed, or ended early."""
    dull = re.compile(r"\s*(Start\s+\d+: |\d+/\d+ Test .* Passed |SKIPPED .*no time is left)")
    return [line for line in output.splitlines() if not dull.match(line)]


STREAMS = {"k": "streams_go_on_and_on", "only": "python", "minutes": 10.0, "seconds": 55}
KILLS = {"k": "killed_at_any_moment", "only": "python", "rounds": 1, "kills": 200}


@dataclass
class Round:
    """What a round came to.

    Attributes
    ----------
    printed
        The last part of what each failing runner printed.
    again
        The command that repeats each failure.
    seeds
        How many seeds each test ran with, where that was not one alone.
    """

    printed: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    seeds: Counter[str] = field(default_factory=Counter)

    def read(self, kind: str, first_seed: int) -> None:
        """Add what is in the report of a runner."""
        try:
            cases = list(ET.parse(REPORTS[kind]).getroot().iter("testcase"))
        except (OSError, ET.ParseError):
            return  # the runner crashed; what it printed is shown
        for case in cases:
            name, output = case.get("name", "?"), case.findtext("system-out") or ""
            in_name = re.findall(r"seed=(\d+)", name)
            shown = in_name or re.findall(r"FLUVIAL_TEST_SEED=(\d+)", output)
            whole = re.sub(r"seed=\d+-?|\[seed=\d+\]", "", name)
            ended = case.find("skipped") is not None or case.get("status") == "disabled"
            if kind == "cpp":
                done = re.findall(r"^seeds: (\d+) of \d+$", output, re.MULTILINE)
                self.seeds[whole] += int(done[-1]) if done else 1
            else:
                self.seeds[f"{case.get('classname')}.{whole}"] += not ended
            if case.find("failure") is None and case.find("error") is None:
                continue
            pattern = f"'^{name}$'" if kind == "cpp" else name.partition("[")[0]
            seed = shown[-1] if shown else first_seed
            self.again.append(f"./run soak --seed {seed} --only {kind} -k {pattern}")


def round_of(seeds: list[int], options: argparse.Namespace) -> Round:
    """Run one round."""
    env = environment("mpich") | {"FLUVIAL_TEST_SEED": ",".join(map(str, seeds))}
    if options.seconds is not None:
        env["FLUVIAL_SOAK_SECONDS"] = str(options.seconds)
    if options.kills is not None:
        env["FLUVIAL_KILLS"] = str(options.kills)
    if len(seeds) > 1:
        env["FLUVIAL_TEST_SECONDS"] = str(options.each)
    outcome = Round()
    for kind, command in commands(options).items():
        REPORTS[kind].unlink(missing_ok=True)
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        outcome.read(kind, seeds[0])
        if done.returncode not in (0, 5):  # 5: pytest found no test of the pattern
            outcome.printed.append("\n".join(told(done.stdout)[-60 * len(outcome.again or [1]) :]))
    return outcome


def seeds_from(first: int, count: int) -> list[int]:
    """Return `first` and as many others, the same for the same first one.

    They are no neighbours, because some tests count on from their seed.
    """
    numbers = random.Random(first)
    return [first, *(numbers.getrandbits(32) for _ in range(count - 1))]


def show_seeds(outcome: Round, options: argparse.Namespace) -> None:
    """Print how many seeds the tests ran with."""
    full = sum(count >= options.seeds for count in outcome.seeds.values())
    print(f"{full} tests ran with {options.seeds} seeds each; with fewer, in {options.each:g} s:")
    for name, count in sorted(outcome.seeds.items()):
        if count < options.seeds:
            print(f"  {count:5d}  {name}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run soak",
        description=(__doc__ or "").replace("`", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, help="how long the rounds go on (default 30)")
    parser.add_argument("--rounds", type=int, help="how many rounds, however long they take")
    parser.add_argument("--seed", type=int, help="one round with this seed")
    parser.add_argument(
        "--seeds", type=int, default=1, help="one round with so many seeds (or as --rounds says)"
    )
    parser.add_argument(
        "--each",
        type=float,
        default=30,
        metavar="SECONDS",
        help="of --seeds: a test that has run for so long ends with its present seed (default 30)",
    )
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose names match")
    parser.add_argument("--only", choices=("cpp", "python"), help="only one kind of test")
    parser.add_argument("--streams", action="store_true", help="streams of all policies alone")
    parser.add_argument("--kills", action="store_true", help="kills at 200 moments alone")
    parser.set_defaults(seconds=None)
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds is {options.seeds}; a round has at least 1")
    if not 0 <= options.each <= 600:
        parser.error(f"--each is {options.each:g}; a test goes on for 0 to 600 seconds")
    chosen = STREAMS if options.streams else KILLS if options.kills else {}
    options.kills = None
    for name, value in chosen.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.rounds is None and options.minutes is None and options.seeds > 1:
        options.rounds = 1
    return options


def main() -> int:
    options = parsed()
    minutes = 30 if options.minutes is None else options.minutes
    began, rounds, failed = time.monotonic(), 0, []
    while True:
        seed = options.seed if options.seed is not None else secrets.randbits(32)
        start = time.monotonic()
        outcome = round_of(seeds_from(seed, options.seeds), options)
        rounds += 1
        verdict = "failed" if outcome.printed else "passed"
        further = f" and {options.seeds - 1} further ones" if options.seeds > 1 else ""
        took_s = time.monotonic() - start
        print(f"round {rounds}: seed {seed}{further} {verdict} ({took_s:.0f} s)", flush=True)
        if options.seeds > 1:
            show_seeds(outcome, options)
        if outcome.printed:
            failed.append(seed)
            print(*outcome.printed, sep="\n")
            again = outcome.again or [f"./run soak --seed {seed} --seeds {options.seeds}"]
            print(*(f"again: {command}" for command in again), sep="\n", flush=True)
        if options.seed is not None or rounds == options.rounds:
            break
        if options.rounds is None and time.monotonic() - began > 60 * minutes:
            break
    if failed:
        print("seeds of rounds that failed:", *failed)
    print(f"{rounds - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
