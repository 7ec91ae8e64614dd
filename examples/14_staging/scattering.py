# SPDX-License-Identifier: Apache-2.0
"""The scattering pattern of a simulation while it runs: each rank loads its share of each step.

    fluvial run -n 6 simulation.py drop + -n 2 scattering.py drop --strategy even-binpacking
    fluvial run -n 2 simulation.py drop + -n 6 scattering.py drop    # shared otherwise

`drop` may be files, too. Loading is timed from the request to the last element, which gives the
perceived throughput.
"""

import argparse
import json
import pathlib
import time

import numpy as np
from mpi4py import MPI

import fluvial as fl

POSITIONS = [f"particles/atoms/position/{axis}" for axis in "xyz"]


def load(step, shares):
    """Return this rank's positions, (3, n), in memory of its own."""
    parts = [
        np.concatenate([step[name][piece.selection] for piece in shares[name]] or [np.empty(0)])
        for name in POSITIONS
    ]
    return np.stack(parts)


def load_timed(comm, step, strategy, loads):
    """Load by a strategy; note bytes, seconds, and how many writers this rank reads from."""
    shares = step.mine(strategy, POSITIONS)
    comm.Barrier()  # so that no rank is timed while it waits for another
    mark = time.perf_counter()
    positions = load(step, shares)
    seconds = time.perf_counter() - mark
    partners = {piece.rank for name in POSITIONS for piece in shares[name]}
    loads.append((positions.nbytes, seconds, len(partners)))
    return positions


def detector(options):
    """Return the operator: a camera behind the drop, argon's form factor, lengths in Å."""
    sigma = 3.4  # of argon, in Å
    return fl.ops.StructureFactor.camera(
        wavelength=1.54 / sigma,
        distance=60.0,
        pixels=options.pixels,
        pixel=100.0 / options.pixels,
        form_factors={1: "Ar"},
        angstrom=1 / sigma,
    )


def main():
    """Load and analyse all steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series")
    parser.add_argument(
        "--strategy", action="append", help="several: each loads every step; the first one's counts"
    )
    parser.add_argument("--pixels", type=int, default=16, help="on each side of the detector")
    parser.add_argument("--picture", help="a file of the last pattern: .png")
    parser.add_argument("--report", type=pathlib.Path, help="a file of JSON for the figures")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    strategies = options.strategy or ["hyperslabs"]
    loads, image = {strategy: [] for strategy in strategies}, None
    with fl.open(options.series, comm=comm) as series:
        for step in series:
            for strategy in reversed(strategies):
                positions = load_timed(comm, step, strategy, loads[strategy])
            if options.pixels:
                image = pattern(comm, detector(options), positions)
    of_all = comm.gather(loads)
    if comm.rank != 0:
        return
    show(of_all, image, options)


def pattern(comm, operator, positions):
    """Return the pattern of the atoms of all ranks, on the first one."""

    def nothing():
        return operator.identity((positions.shape[1],), ["float64"] * 3 + ["int64"])

    mine = nothing()
    mine.absorb([*positions, np.ones(positions.shape[1], np.int64)])
    states = comm.gather(mine.encode())
    if states is None:
        return None
    whole, other = nothing(), nothing()
    for state in states:
        other.decode(state)
        whole.merge(other)
    return operator.wrap(whole.finish())


def show(of_all, image, options):
    """Say what was loaded, and draw."""
    for strategy in of_all[0]:
        steps = list(zip(*(loads[strategy] for loads in of_all), strict=True))
        nbytes = sum(load[0] for step in steps for load in step)
        seconds = sum(max(load[1] for load in step) for step in steps)
        fullest = max((fullest_of(step) for step in steps), default=1.0)
        print(
            f"{strategy}: {len(steps)} steps, {nbytes / 1e6:.1f} MB loaded at "
            f"{nbytes / max(seconds, 1e-9) / 1e9:.2f} GB/s; the fullest rank had {fullest:.2f} "
            "times its share"
        )
    if options.report is not None:
        options.report.write_text(json.dumps(of_all))
    if options.picture and image is not None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        pyplot.imsave(options.picture, np.log10(image.image() + 1), origin="lower")


def fullest_of(step):
    """Return how many times the mean the rank with most bytes of a step has."""
    sizes = [load[0] for load in step]
    return max(sizes) * len(sizes) / max(sum(sizes), 1)


if __name__ == "__main__":
    main()
