# SPDX-License-Identifier: Apache-2.0
"""Draws throughput and loading times by strategy, and what shared machines make of both jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.machine import caption

_COLOURS = ("#0b6fb8", "#c8502d", "#4a9b5b", "#e0a93b", "#7d5ba6", "#6f6f6f")
_BOXED = ("by-host(binpacking)", "hyperslabs", "even-binpacking")
"""The paper's two most promising strategies, and the one that balances."""
Records = Sequence[Mapping[str, Any]]


def draw(png: Path, started: Mapping[str, Any], records: Records) -> None:
    """Draw three panels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    compared = [r for r in records if r["case"] != "shared"]
    _throughput(axes[0], [r for r in compared if r["metric"] == "perceived throughput"])
    _boxes(axes[1], [r for r in compared if r["metric"] == "loading time"])
    _shares(axes[2], [r for r in records if r["case"] == "shared"])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.text(0.01, -0.03, caption(started["machine"]), size=7, color="#555555")
    figure.savefig(png, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def _throughput(axis: Any, records: Records) -> None:
    strategies = list(dict.fromkeys(r["case"] for r in records))
    for colour, strategy in zip(_COLOURS, strategies, strict=False):
        mine = [r for r in records if r["case"] == strategy]
        ranks = [r["params"]["ranks"][0] for r in mine]
        axis.plot(ranks, [r["median"] for r in mine], "o-", color=colour, label=strategy, ms=4)
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [f"{n}×{n}" for n in ranks])
    axis.set(xlabel="ranks, simulation × analysis", ylabel="perceived throughput, GB/s")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, fontsize=7)


def _boxes(axis: Any, records: Records) -> None:
    sizes = list(dict.fromkeys(r["params"]["ranks"][0] for r in records))
    for shift, (colour, strategy) in enumerate(zip(_COLOURS, _BOXED, strict=False)):
        mine = [r["params"]["box"] for r in records if r["case"] == strategy]
        places = [size + 0.26 * (shift - 1) for size in range(len(sizes))]
        drawn = axis.bxp(
            mine, positions=places, widths=0.2, patch_artist=True, flierprops={"markersize": 3}
        )
        for patch in drawn["boxes"]:
            patch.set(facecolor=colour, alpha=0.5)
        drawn["boxes"][0].set_label(strategy)
    axis.set_xticks(range(len(sizes)), [f"{n}×{n}" for n in sizes])
    axis.set(xlabel="ranks, simulation × analysis", ylabel="loading time of a rank, ms")
    axis.set_yscale("log")
    axis.legend(frameon=False, fontsize=7)


def _shares(axis: Any, records: Records) -> None:
    other = axis.twinx()
    for metric, colour, on, mark in (
        ("steps of the simulation a second", _COLOURS[0], axis, "o-"),
        ("patterns a second", _COLOURS[1], other, "s--"),
    ):
        mine = [r for r in records if r["metric"] == metric]
        shares = [f"{r['params']['ranks'][0]}+{r['params']['ranks'][1]}" for r in mine]
        on.plot(shares, [r["median"] for r in mine], mark, color=colour, ms=4)
        on.set_ylabel(metric, color=colour)
        on.set_ylim(bottom=0)
    axis.set_xlabel("ranks of simulation + analysis")
