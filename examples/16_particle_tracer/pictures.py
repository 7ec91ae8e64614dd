# SPDX-License-Identifier: Apache-2.0
"""Pictures of a sweep: the contour of run times over its parameters, and streamlines.

python pictures.py CONTOUR.png < what the sweep has printed
"""

import re
import sys

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter

LINE = re.compile(r"RESULT: bf=(\d+) np=(\d+) -> time=([\d.]+)")


def run_times(lines):
    """Return the numbers of blocks, of processes, and the run times (s) by both."""
    found = [LINE.match(line) for line in lines]
    times = {(int(m[1]), int(m[2])): float(m[3]) for m in found if m}
    blocks, processes = (sorted({key[axis] for key in times}) for axis in (0, 1))
    return blocks, processes, np.array([[times[b, p] for p in processes] for b in blocks])


def draw_contour(lines, path):
    """Draw run times as the paper's Figure 11; blue is fast."""
    blocks, processes, times = run_times(lines)
    figure, axis = pyplot.subplots(figsize=(6, 4.2), layout="constrained")
    levels = np.geomspace(times.min(), times.max() * 1.0001, 15)
    x, y = np.log2(processes), np.log2(blocks)
    filled = axis.contourf(x, y, times, levels, cmap="turbo", norm=matplotlib.colors.LogNorm())
    axis.contour(x, y, times, levels, colors="black", linewidths=0.3)
    best = np.unravel_index(times.argmin(), times.shape)
    axis.plot(x[best[1]], y[best[0]], "w*", markersize=12, markeredgecolor="black", clip_on=False)
    powers = FuncFormatter(lambda value, _: f"{2**value:.0f}")
    axis.set_xticks(x)
    axis.set_yticks(y)
    axis.xaxis.set_major_formatter(powers)
    axis.yaxis.set_major_formatter(powers)
    axis.set(xlabel="processes (np)", ylabel="blocks of each process (bf)")
    bar = figure.colorbar(filled, label="run time (s)", format="%.3g")
    bar.set_ticks(levels[::2])
    bar.minorticks_off()
    figure.savefig(path, dpi=130, format="png")
    pyplot.close(figure)
    print(f"fastest: bf={blocks[best[0]]} np={processes[best[1]]}, {times.min():.3f} s")


def draw_streamlines(rows, problem, path):
    """Draw paths (number, step, x, y, z), whose rows follow each other."""
    figure = pyplot.figure(figsize=(6, 5), layout="constrained")
    axis = figure.add_subplot(projection="3d", box_aspect=(1, 1, 1))
    speed = pyplot.get_cmap("viridis")
    for number in np.unique(rows[:, 0]):
        path_of = rows[rows[:, 0] == number][:, 2:]
        length = np.linalg.norm(np.diff(path_of, axis=0), axis=1).mean() / problem.step
        axis.plot(*path_of.T, linewidth=0.5, color=speed(length / 4))
    axis.set(xlabel="x", ylabel="y", zlabel="z")
    figure.savefig(path, dpi=130, format="png")
    pyplot.close(figure)


if __name__ == "__main__":
    draw_contour(sys.stdin.readlines(), sys.argv[1])
