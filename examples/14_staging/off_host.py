# SPDX-License-Identifier: Apache-2.0
"""How much of each step leaves its host, by the strategy that shares it out.

    fluvial run -n 4 simulation.py drop + -n 2 off_host.py drop --picture off_host.png

Each strategy stands beside the same one inside of by-host, which first gives every reader what lies
on its own host. Start the jobs on several hosts: on one, nothing leaves it. A report that is there
already is added to, and the picture has all of it.
"""

import argparse
import json
import pathlib
import socket

import numpy as np
from mpi4py import MPI

import fluvial as fl

POSITIONS = [f"particles/atoms/position/{axis}" for axis in "xyz"]
STRATEGIES = ["round-robin", "hyperslabs", "cuboids", "binpacking", "even-binpacking", "blocks"]
COLOURS = {"alone": "#c8502d", "by host first": "#0b6fb8"}


def by_host(strategy):
    """Return the strategy that gives readers what is on their host before it shares the rest."""
    return f"by-host({strategy}, fallback={strategy})"


def load(step, strategy):
    """Load this rank's positions; return their bytes, and those that another host had."""
    here, loaded, off_host = socket.gethostname(), 0, 0
    shares = step.mine(strategy, POSITIONS)
    for name in POSITIONS:
        for piece in shares[name]:
            nbytes = step[name][piece.selection].nbytes
            loaded += nbytes
            off_host += nbytes if piece.place != here else 0
    return loaded, off_host


def compare(comm, series, strategies):
    """Load all steps by each strategy; return what all ranks have found, by where the jobs are."""
    names = [name for strategy in strategies for name in (strategy, by_host(strategy))]
    sums, steps = np.zeros((len(names), 2), "i8"), 0
    with fl.open(series, comm=comm) as stream:
        for step in stream:
            sums += [load(step, name) for name in names]
            steps += 1
        chunks = step[POSITIONS[0]].chunks if steps else []
        received = stream.stats["bytes_received"]
    writing = {chunk.host for chunk in chunks}
    reading = set(comm.allgather(socket.gethostname()))
    where = f"{len(writing)} + {len(reading)} hosts, {len(writing & reading)} of them in common"
    return {
        "where": where,
        "steps": steps,
        "received": comm.allreduce(received),
        "off_host": dict(zip(names, comm.allreduce(sums).tolist(), strict=True)),
    }


def show(found, strategies):
    """Print a line for each strategy."""
    print(f"{found['where']}; {found['steps']} steps, kB off host of kB loaded:")
    print(f"{'':18}{'alone':>16}{'by host first':>18}")
    for strategy in strategies:
        cells = [found["off_host"][name] for name in (strategy, by_host(strategy))]
        words = [f"{off / 1e3:.0f} of {loaded / 1e3:.0f}" for loaded, off in cells]
        print(f"{strategy:18}{words[0]:>16}{words[1]:>18}")
    print(f"{found['received'] / 1e3:.0f} kB came over the network in all of this")


def draw(of_all, strategies, png):
    """Draw a panel for each way in which the jobs lay on hosts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(of_all), figsize=(1 + 5.2 * len(of_all), 3.6), squeeze=False, layout="constrained"
    )
    for axis, found in zip(axes[0], of_all, strict=True):
        for shift, (label, colour) in zip((-0.2, 0.2), COLOURS.items(), strict=True):
            names = strategies if label == "alone" else [by_host(one) for one in strategies]
            cells = [found["off_host"][name] for name in names]
            shares = [100 * off / max(loaded, 1) for loaded, off in cells]
            places = np.arange(len(strategies)) + shift
            bars = axis.bar(places, shares, 0.36, color=colour, label=label)
            axis.bar_label(bars, fmt="%.0f", size=7)
        axis.set_xticks(range(len(strategies)), strategies, rotation=25, ha="right")
        axis.set(title=found["where"], ylim=(0, 108), ylabel="bytes off host, %")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False)
    figure.savefig(png, dpi=120)


def main():
    """Compare, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series")
    parser.add_argument("--strategy", action="append", help="several; by-host is added")
    parser.add_argument("--report", type=pathlib.Path, help="a file of JSON")
    parser.add_argument("--picture", help="a file of .png")
    options = parser.parse_args()
    strategies = options.strategy or STRATEGIES
    found = compare(MPI.COMM_WORLD, options.series, strategies)
    if MPI.COMM_WORLD.rank != 0:
        return
    show(found, strategies)
    of_all = [found]
    if options.report is not None:
        if options.report.exists():
            of_all = [*json.loads(options.report.read_text()), found]
        options.report.write_text(json.dumps(of_all))
    if options.picture:
        draw(of_all, strategies, options.picture)


if __name__ == "__main__":
    main()
