# SPDX-License-Identifier: Apache-2.0
"""Runs a sweep with a journal in a process of its own and kills that, twice a seed.

usage: journal_program.py DIRECTORY SEED…

The sweep says through a pipe which of its futures are done. It is killed when a random number of
them are, and a random time later; then it runs to its end. Prints one line of JSON a seed: which
were said to be done before the kills, which ran again afterwards although they were, and whether
all results are right.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time

import fluvial as fl

TASKS = 60


def run(folder, number):
    """A task: leaves a mark when it is run."""
    (folder / f"ran-{number}").touch()
    return result_of(number)


def result_of(number):
    return bytes([number]) * (number * 97)


def sweep(folder, tell):
    with fl.Pool(journal=folder / "journal") as pool:
        keyed = pool.with_options(key="{1}".format)
        for number in range(TASKS):
            future = keyed.submit(run, folder, number)
            future.add_done_callback(lambda done, number=number: tell(number, done.result()))


def told_by(folder, random_numbers=None):
    """Sweep in a child; with random numbers, kill it on the way. Return what it told, in order."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        sweep(
            folder,
            lambda number, got: os.write(write_end, bytes([number, got == result_of(number)])),
        )
        os._exit(0)
    os.close(write_end)
    told = b""
    if random_numbers is not None:
        after = random_numbers.randrange(TASKS)
        while len(told) < 2 * after and (some := os.read(read_end, 2)):
            told += some
        time.sleep(random_numbers.random() * 3e-3)
        os.kill(child, signal.SIGKILL)
    while some := os.read(read_end, 4096):
        told += some
    os.close(read_end)
    os.waitpid(child, 0)
    return dict(zip(told[::2], told[1::2], strict=True))


def main():
    for seed in map(int, sys.argv[2:]):
        folder = pathlib.Path(sys.argv[1], str(seed))
        folder.mkdir()
        random_numbers = random.Random(seed)
        told = told_by(folder, random_numbers) | told_by(folder, random_numbers)
        for mark in folder.glob("ran-*"):
            mark.unlink()
        at_last = told_by(folder)
        again = [number for number in told if (folder / f"ran-{number}").exists()]
        right = set(at_last) == set(range(TASKS)) and all((told | at_last).values())
        print(json.dumps({"seed": seed, "told": len(told), "again": again, "right": right}))


if __name__ == "__main__":
    main()
