# SPDX-License-Identifier: Apache-2.0
"""Draws distribution.png: the same chunks, given to six readers by each of six strategies."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import fluvial as fl

HERE = pathlib.Path(__file__).resolve().parent
STRATEGIES = (
    "round-robin",
    "hyperslabs",
    "cuboids",
    "binpacking",
    "even-binpacking",
    "by-host(even-binpacking, fallback=hyperslabs)",
)
ROWS, COLUMNS = (0, 26, 38, 64), (0, 14, 40, 52, 76, 96)
COLOURS = ("#0b6fb8", "#c8502d", "#4a9b5b", "#e0a93b", "#7d5ba6", "#6f6f6f")


def plate() -> list[fl.distribute.Piece]:
    """Return chunks of fifteen ranks on three hosts, one host a row."""
    chunks = []
    for row, (top, bottom) in enumerate(itertools.pairwise(ROWS)):
        for left, right in itertools.pairwise(COLUMNS):
            extent = (bottom - top, right - left)
            chunk = fl.distribute.Piece((top, left), extent, len(chunks), f"node{row}")
            chunks.append(chunk)
    return chunks


def draw_one(axis: Any, strategy: str) -> None:
    """Draw the chunks as black frames, and what each reader gets in its colour."""
    from matplotlib.patches import Rectangle

    hosts = ["node0"] * 3 + ["node1"] * 3
    made = fl.distribute.assign(plate(), hosts, strategy)
    for reader, share in enumerate(made.shares):
        for piece in share:
            (top, left), (height, width) = piece.offset, piece.extent
            fill = {"facecolor": COLOURS[reader], "edgecolor": "white", "linewidth": 0.8}
            axis.add_patch(Rectangle((left, top), width, height, **fill))
    for chunk in plate():
        (top, left), (height, width) = chunk.offset, chunk.extent
        axis.add_patch(Rectangle((left, top), width, height, fill=False, linewidth=1.6))
    found = made.metrics()
    axis.set_title(strategy, loc="left", size=8, weight="bold")
    below = f"locality {found.locality:.2f}   balance {found.balance:.2f}   "
    axis.text(0, 69, f"{below}alignment {found.alignment:.2f}", size=8, va="top")
    axis.set(xlim=(-0.5, 96.5), ylim=(76, -0.5), aspect="equal")
    axis.axis("off")


def draw(png: pathlib.Path) -> None:
    """Draw all strategies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(10.5, 5.6), layout="constrained")
    for axis, strategy in zip(axes.flat, STRATEGIES, strict=True):
        draw_one(axis, strategy)
    figure.savefig(png, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    draw(HERE / "distribution.png")
