# SPDX-License-Identifier: Apache-2.0
"""A picture of a plan: the paths of its flows, and what they gain by size of message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..route.planning import Path, Plan
from .pictures import new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PATHS_MAX = 40  # what can be told apart
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def draw(made: Plan, sizes: list[int], costs: str, path: str) -> None:
    """Draw a plan into a file: one line a path, large marks for proxies; speed-up beside it.

    Raises
    ------
    InvalidArgument
        Matplotlib is not installed, or does not write this kind of file.
    """
    figure = new_figure()
    lanes = [(flow, one) for flow, paths in enumerate(made.paths) for one in paths][:_PATHS_MAX]
    figure.set_size_inches(12, max(3.5, 0.42 * len(lanes) + 1.5))
    ways, gains = figure.subplots(1, 2, width_ratios=(2, 1))
    for lane, (flow, one) in enumerate(lanes):
        _draw_path(ways, made, one, -lane, f"C{flow % 10}")
    left_out = sum(map(len, made.paths)) - len(lanes)
    more = f", {left_out} more paths not drawn" if left_out else ""
    ways.set_title(f"{made.topology}: {made.planner} paths{more}")
    ways.set_axis_off()
    _draw_gains(gains, made, sizes, costs)
    save(figure, path)


def _draw_path(axes: Axes, made: Plan, one: Path, height: float, colour: str) -> None:
    """Nodes at equal distances, so that each line has the same length."""
    steps = len(one.nodes) - 1
    along = [i / steps for i in range(steps + 1)]
    axes.plot(along, [height] * (steps + 1), color=colour, marker=".", markersize=4, zorder=1)
    for place, node in zip(along, one.nodes, strict=True):
        stops = node in one.stops
        if stops:
            axes.plot([place], [height], color=colour, marker="o", markersize=9, zorder=2)
        axes.annotate(
            made.topology.name(node),
            (place, height),
            textcoords="offset points",
            xytext=(0, 7),
            ha="center",
            fontsize=8 if stops else 6,
            fontweight="bold" if stops else "normal",
        )


def _draw_gains(axes: Axes, made: Plan, sizes: list[int], costs: str) -> None:
    ordered = sorted(sizes)
    for flow, (source, target, _) in enumerate(made.flows):
        gains = [made.predict(size, flow, costs=costs).speed_up for size in ordered]
        label = f"{made.topology.name(source)} → {made.topology.name(target)}"
        axes.plot(ordered, gains, marker=".", color=f"C{flow % 10}", label=label)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ordered[::2], [_in_units(size) for size in ordered[::2]], rotation=60)
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("message")
    axes.set_ylabel("predicted speed-up over direct")
    if len(made.flows) <= 10:
        axes.legend(fontsize=8)


def _in_units(size: int) -> str:
    """Return a size as an axis shows it.

    >>> _in_units(65536), _in_units(1500)
    ('64 KiB', '1.46 KiB')
    """
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"
