# SPDX-License-Identifier: Apache-2.0
"""Draws what a pipe beside a simulation gains over direct output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.machine import caption

_COLOURS = {"direct": "#c8502d", "pipe": "#0b6fb8"}
_BARS = (
    ("share of the simulation's time in output", "% of the simulation's time in output"),
    ("outputs written", "outputs in the file"),
)


def draw(png: Path, started: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Draw two panels of bars and one of boxplots."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4), layout="constrained")
    for axis, (metric, label) in zip(axes, _BARS, strict=False):
        _bars(axis, [r for r in records if r["metric"] == metric], label)
    _boxes(axes[2], [r for r in records if "box" in r["params"]])
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=8
    )
    seconds = records[0]["params"]["seconds"]
    figure.suptitle(f"LAMMPS for {seconds:g} s: output into a file, and through a pipe", size=11)
    figure.text(0.01, -0.03, caption(started["machine"]), size=7, color="#555555")
    figure.savefig(png, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def _bars(axis: Any, records: Sequence[Mapping[str, Any]], label: str) -> None:
    for place, record in enumerate(records):
        bars = ((record["peer_median"], "direct"), (record["median"], "pipe"))
        for shift, (value, way) in zip((-0.2, 0.2), bars, strict=True):
            words = {"direct": "into a file", "pipe": "through a pipe"}[way]
            axis.bar(place + shift, value, 0.38, color=_COLOURS[way], label="" if place else words)
            axis.annotate(f"{value:.3g}", (place + shift, value), ha="center", va="bottom", size=8)
    axis.set_xticks(range(len(records)), [_word(record) for record in records])
    axis.set_ylabel(label)
    axis.spines[["top", "right"]].set_visible(False)


def _boxes(axis: Any, records: Sequence[Mapping[str, Any]]) -> None:
    boxes, places, colours = [], [], []
    for place, record in enumerate(records):
        for shift, key, way in ((-0.2, "peer_box", "direct"), (0.2, "box", "pipe")):
            boxes.append(record["params"][key])
            places.append(place + shift)
            colours.append(_COLOURS[way])
    drawn = axis.bxp(boxes, positions=places, widths=0.3, patch_artist=True)
    for patch, colour in zip(drawn["boxes"], colours, strict=True):
        patch.set(facecolor=colour, alpha=0.5)
    axis.set_xticks(range(len(records)), [_word(record) for record in records])
    axis.set_yscale("log")
    axis.set_ylabel("ms that an output takes from the simulation")
    axis.spines[["top", "right"]].set_visible(False)


def _word(record: Mapping[str, Any]) -> str:
    return "as it is" if record["case"] == "none" else record["case"]
