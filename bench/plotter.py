# SPDX-License-Identifier: Apache-2.0
"""The one plotter: draws any bench's JSON lines by a layout of panels.

A layout names what to draw; every figure comes from the records, so that a picture can be drawn
again from a results file: ``draw(png, layout, last_run(file)[1])``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.table import size_label

_INK = "#333333"
_GRID = "#dddddd"
_TICKS_APART = 0.07  # of the axis
_SIZE_TICKS = (2**3, 2**6, 2**10, 2**13, 2**16, 2**20, 2**24, 2**28)


@dataclass(frozen=True)
class Line:
    """A line: medians of a case with its min–max band, of a peer, or ratios of case to peer.

    `where` are parameters that its records must have.
    """

    label: str
    colour: str
    case: str = ""
    peer: str = ""
    metric: str = ""
    style: str = "-"
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """One coordinate system: `metrics` are added up (such as the memory of both sides).

    `y` is ``"median"`` for figures and ``"ratio"`` for how far Fluvial is ahead; `marks` are
    horizontal lines with a label; x is the parameter `x`, written by `x_tick` (default: as bytes);
    records without it are left out.  `log_y` is for figures over decades, whose ticks `tick`
    writes.  The least and greatest are a band, or `whiskers` where lines lie close together.
    """

    title: str
    metrics: tuple[str, ...]
    y_label: str
    lines: tuple[Line, ...]
    y: str = "median"
    x: str = "bytes"
    x_label: str = "bytes a step"
    log_y: bool = True
    tick: Callable[[float], str] | None = None
    marks: tuple[tuple[float, str], ...] = ()
    x_tick: Callable[[float], str] | None = None
    whiskers: bool = False


@dataclass(frozen=True)
class Bars:
    """Groups of bars along a parameter's values; a bar's height is the ratio to a peer.

    Each of `series` is a label, a colour, and the params, case or peer that its records have.
    """

    title: str
    y_label: str
    metric: str
    group: str
    series: tuple[tuple[str, str, Mapping[str, Any]], ...]
    peer: str = ""
    marks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Layout:
    """A picture: title, one line on the machine, panels from left to right and down.

    One legend for all panels, or one below each where their lines differ.
    """

    title: str
    subtitle: str
    panels: tuple[Panel | Bars, ...]
    columns: int = 2
    legends_apart: bool = False


def points(
    records: Sequence[Mapping[str, Any]], panel: Panel, line: Line
) -> list[tuple[float, float, float, float]]:
    """(x, y, low, high) of a line, ascending in x; sums over the panel's metrics.

    A point is left out when a metric of it is missing; low and high are those of Fluvial's runs,
    and equal y for a peer or a ratio.
    """
    metrics = (line.metric,) if line.metric else panel.metrics
    found: dict[float, dict[str, tuple[float, float, float]]] = {}
    for record in records:
        if record["metric"] not in metrics or panel.x not in record["params"]:
            continue
        if line.case and record["case"] != line.case:
            continue
        if any(record["params"].get(name) != value for name, value in line.where.items()):
            continue
        if line.peer and record["peer"] != line.peer:
            continue
        if panel.y == "ratio":
            value = record["ratio"]
            values = None if value is None else (value, value, value)
        elif line.case:
            values = (record["median"], record["min"], record["max"])
        else:
            value = record["peer_median"]
            values = None if value is None else (value, value, value)
        if values is not None:
            found.setdefault(record["params"][panel.x], {})[record["metric"]] = values
    complete = {x: by for x, by in found.items() if len(by) == len(metrics)}
    added = []
    for x in sorted(complete):
        y, low, high = (sum(values[k] for values in complete[x].values()) for k in range(3))
        added.append((x, y, low, high))
    return added


def draw(png: Path, layout: Layout, records: Sequence[Mapping[str, Any]]) -> None:
    """Draw `layout` from record objects into `png`; panels without any figure say so."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = -(-len(layout.panels) // layout.columns)
    with matplotlib.rc_context(_look()):
        figure, axes = pyplot.subplots(
            rows,
            layout.columns,
            figsize=(5.6 * layout.columns, (4.9 if layout.legends_apart else 3.7) * rows + 0.9),
            squeeze=False,
            layout="constrained",
        )
        height = figure.get_figheight()
        figure.text(0.012, 1 - 0.12 / height, layout.title, fontsize=14, weight="bold", va="top")
        figure.text(0.012, 1 - 0.42 / height, layout.subtitle, fontsize=8.5, va="top")
        for axis, panel in zip(axes.flat, layout.panels, strict=False):
            drawn = (
                _draw_lines(axis, panel, records)
                if isinstance(panel, Panel)
                else _draw_bars(axis, panel, records)
            )
            axis.set_title(panel.title, loc="left")
            axis.set_ylabel(panel.y_label)
            _draw_marks(axis, panel.marks if drawn else ())
            if not drawn:
                axis.text(0.5, 0.5, "nothing measured", transform=axis.transAxes, ha="center")
        legend = _draw_legends(axes) if layout.legends_apart else _draw_legend(figure, axes)
        top = 1 - (0.67 + legend) / height
        figure.get_layout_engine().set(rect=(0, 0, 1, top), h_pad=0.08, w_pad=0.08)
        for axis in axes.flat[len(layout.panels) :]:
            axis.set_visible(False)
        png.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(png, dpi=140)
        pyplot.close(figure)


def _draw_marks(axis: Any, marks: Sequence[tuple[float, str]]) -> None:
    for height, label in marks:
        axis.axhline(height, color=_INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axis.annotate(
            label,
            (0.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 3),
            textcoords="offset points",
            ha="left",
            fontsize=7.5,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )


def _draw_legends(axes: Any) -> float:
    """Draw a legend below each panel; returns the height of one above all: none."""
    for axis in axes.flat:
        handles, labels = axis.get_legend_handles_labels()
        if handles:
            axis.legend(
                handles,
                labels,
                loc="upper left",
                bbox_to_anchor=(-0.1, -0.15),
                ncols=2,
                columnspacing=1.0,
                handlelength=1.8,
            )
    return 0.0


def _draw_legend(figure: Any, axes: Any) -> float:
    """Draw one under the subtitle for all panels, in which a label has one colour.

    As many columns as fit; returns its height in inches.
    """
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    for columns in range(max(1, len(handles)), 0, -1):
        legend = figure.legend(
            list(handles.values()),
            list(handles),
            loc="upper left",
            bbox_to_anchor=(0.006, 1 - 0.58 / figure.get_figheight()),
            ncols=columns,
            columnspacing=1.6,
        )
        extent = legend.get_window_extent(figure.canvas.get_renderer())
        if extent.width < 0.985 * figure.bbox.width or columns == 1:
            break
        legend.remove()
    return float(extent.height / figure.dpi)


def _draw_lines(axis: Any, panel: Panel, records: Sequence[Mapping[str, Any]]) -> bool:
    from matplotlib.ticker import LogLocator

    drawn = False
    every_x: set[float] = set()
    for line in panel.lines:
        found = points(records, panel, line)
        if not found:
            continue
        drawn = True
        x, y, low, high = zip(*found, strict=True)
        every_x.update(x)
        axis.plot(
            x,
            y,
            line.style,
            color=line.colour,
            label=line.label,
            linewidth=1.8,
            marker="o",
            markersize=2.8,
        )
        if low != high and panel.whiskers:
            axis.vlines(x, low, high, color=line.colour, linewidth=1.1)
            axis.plot(x, low, "_", x, high, "_", color=line.colour, markersize=4.5)
        elif low != high:
            axis.fill_between(x, low, high, color=line.colour, alpha=0.18, linewidth=0)
    if drawn:
        axis.set_xscale("log", base=2)
        if panel.log_y:
            axis.set_yscale("log")
            if panel.tick is not None:
                write = panel.tick
                low, high = axis.get_ylim()
                if high < 1000 * low:
                    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.yaxis.set_major_formatter(lambda value, _: write(value))
        else:
            axis.set_ylim(bottom=0)
        ticks = sorted(every_x)
        if panel.x_tick is None:
            ticks = sorted(every_x.intersection(_SIZE_TICKS)) or ticks
        ticks = _apart(ticks)
        write_x = panel.x_tick or (lambda x: size_label(int(x)))
        axis.set_xticks(ticks, [write_x(x) for x in ticks])
        axis.minorticks_off()
        axis.set_xlabel(panel.x_label)
    return drawn


def _apart(ticks: Sequence[float]) -> list[float]:
    """Return ticks whose labels do not touch on a logarithmic axis: the last and those before."""
    if len(ticks) < 2 or ticks[0] <= 0:
        return list(ticks)
    least = _TICKS_APART * math.log(ticks[-1] / ticks[0])
    kept: list[float] = []
    for tick in reversed(ticks):
        if not kept or math.log(kept[-1] / tick) >= least:
            kept.append(tick)
    return kept[::-1]


def _draw_bars(axis: Any, panel: Bars, records: Sequence[Mapping[str, Any]]) -> bool:
    fitting = [
        {**r["params"], "case": r["case"], "peer": r["peer"], "ratio": r["ratio"]}
        for r in records
        if r["metric"] == panel.metric and panel.peer in ("", r["peer"]) and r["ratio"] is not None
    ]
    groups = list(dict.fromkeys(r[panel.group] for r in fitting))
    width = 0.8 / max(1, len(panel.series))
    for number, (label, colour, wanted) in enumerate(panel.series):
        heights = []
        for group in groups:
            found = [
                r["ratio"]
                for r in fitting
                if r[panel.group] == group and all(r.get(k) == v for k, v in wanted.items())
            ]
            heights.append(found[0] if found else 0.0)
        offsets = [k - 0.4 + width * (number + 0.5) for k in range(len(groups))]
        axis.bar(offsets, heights, width * 0.92, color=colour, label=label)
    if groups:
        axis.set_xticks(range(len(groups)), groups)
        if len(groups) == 1:
            axis.set_xlim(-1.5, 1.5)
    return bool(groups)


def _look() -> dict[str, Any]:
    return {
        "axes.edgecolor": _INK,
        "axes.grid": True,
        "axes.labelsize": 9,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "font.size": 9,
        "grid.color": _GRID,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "text.color": _INK,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
    }
