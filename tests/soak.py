# SPDX-License-Identifier: Apache-2.0
"""`./run soak`: the random tests again and again, each round with a new seed.

A failure prints the seed and the command that repeats it; the rounds go on, and the last line
counts. `--streams` is ten minutes of two writing and two reading jobs, a policy and a seed each
minute; `--kills` kills writers and readers of streams on a disk at 200 moments each.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time

from suite import BUILD, ROOT, environment


def commands(seed: int, options: argparse.Namespace) -> list[list[str]]:
    """Return the runners of one round."""
    ctest = ["ctest", "--test-dir", str(BUILD / "mpich"), "-L", "random", "--output-on-failure"]
    ctest += ["-j", str(os.cpu_count() or 1), "--no-tests=ignore"]
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", "random", f"--hypothesis-seed={seed}"]
    if options.k:
        ctest += ["-R", options.k]
        pytest += ["-k", options.k]
    return {"cpp": [ctest], "python": [pytest]}.get(options.only, [ctest, pytest])


def told(output: str) -> list[str]:
    """Return the lines of a runner, without those on tests that began or passed."""
    begun_or_passed = re.compile(r"\s*(Start\s+\d+: |\d+/\d+ Test .* Passed )")
    return [line for line in output.splitlines() if not begun_or_passed.match(line)]


STREAMS = {"k": "streams_go_on_and_on", "only": "python", "minutes": 10.0, "seconds": 55}
KILLS = {"k": "killed_at_any_moment", "only": "python", "rounds": 1, "kills": 200}


def round_of(seed: int, options: argparse.Namespace) -> list[str]:
    """Run one round; return the last part of what each failing runner printed."""
    env = environment("mpich") | {"FLUVIAL_TEST_SEED": str(seed)}
    if options.seconds is not None:
        env["FLUVIAL_SOAK_SECONDS"] = str(options.seconds)
    if options.kills is not None:
        env["FLUVIAL_KILLS"] = str(options.kills)
    failures = []
    for command in commands(seed, options):
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode not in (0, 5):  # 5: pytest found no test of the pattern
            failures.append("\n".join(told(done.stdout)[-60:]))
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run soak", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="how long (default 30)")
    parser.add_argument("--rounds", type=int, help="how many rounds, however long they take")
    parser.add_argument("--seed", type=int, help="one round with this seed")
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose names match")
    parser.add_argument("--only", choices=("cpp", "python"), help="only one kind of test")
    parser.add_argument("--streams", action="store_true", help="streams of all policies alone")
    parser.add_argument("--kills", action="store_true", help="kills at 200 moments alone")
    parser.set_defaults(seconds=None)
    options = parser.parse_args()
    chosen = STREAMS if options.streams else KILLS if options.kills else {}
    options.kills = None
    for name, value in chosen.items():
        if getattr(options, name) in (None, parser.get_default(name)):
            setattr(options, name, value)

    began, rounds, failed = time.monotonic(), 0, []
    while True:
        seed = options.seed if options.seed is not None else secrets.randbits(32)
        start = time.monotonic()
        failures = round_of(seed, options)
        rounds += 1
        verdict = "failed" if failures else "passed"
        print(
            f"round {rounds}: seed {seed} {verdict} ({time.monotonic() - start:.0f} s)", flush=True
        )
        if failures:
            failed.append(seed)
            print(*failures, sep="\n")
            print(f"again: ./run soak --seed {seed}", flush=True)
        if options.seed is not None or rounds == options.rounds:
            break
        if options.rounds is None and time.monotonic() - began > 60 * options.minutes:
            break
    if failed:
        print("seeds that failed:", *failed)
    print(f"{rounds - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
