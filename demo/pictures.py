# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run, as PNG: the map of S(|q|) against time, the detector, spectra, times."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from demo.comparison import Comparison
from demo.crystal import REFLECTIONS, Argon, Crystal, label
from demo.physics import maxwell_boltzmann, melting_output
from demo.protocol import Heating
from demo.record import Floats, Record

COLD, HOT, MIDDLE = "#0072B2", "#D55E00", "#009E73"
"""Of Okabe and Ito's palette, which the colour-blind can tell apart."""
COLORS = "inferno"
INTENSITY = LogNorm(0.02, 1e3)
"""One scale for all pictures of S(q): the liquid's ring amid it, Bragg spots above its end."""
POINT_SPREAD = 0.8
"""Of the drawn detector, in pixels (standard deviation); a Bragg spot would be a single pixel."""

_STYLE: Any = {
    "font.size": 10.5,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "savefig.dpi": 150,
}


@dataclass(frozen=True)
class Picture:
    """A PNG, and its content in words for readers that cannot see it."""

    name: str
    png: bytes
    alternative: str


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return buffer.getvalue()


def draw_all(record: Record, crystal: Crystal, heating: Heating) -> list[Picture]:
    """Draw every picture of the measurements."""
    with plt.rc_context(_STYLE):
        return [
            draw_melting(record, crystal, heating),
            draw_detector(record, crystal, heating),
            draw_film(record, heating),
            draw_structure_factor(record, crystal, heating),
            draw_speeds(record, heating),
        ]


def _per_angstrom(crystal: Crystal, reflection: tuple[int, int, int]) -> float:
    return crystal.q_norm(reflection) / (Argon.LENGTH * 1e10)


def _edges(centres: Floats) -> Floats:
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def _mark_melting(axes: Axes, record: Record, heating: Heating, color: str) -> None:
    melted = melting_output(record.peaks[:, 0], heating)
    if melted is not None:
        axes.axvline(record.time[melted], color=color, linestyle=(0, (4, 3)), linewidth=1.2)


def draw_melting(record: Record, crystal: Crystal, heating: Heating) -> Picture:
    """Draw S(|q|) against time, and beneath it the temperature and the height of (111)."""
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(9.2, 7.0), sharex=True, height_ratios=(3.1, 1)
    )
    shown = record.q > 0.5
    filled = shown & ~np.isnan(record.s).all(axis=0)
    mesh = upper.pcolormesh(
        _edges(record.time),
        _edges(record.q[filled]),
        record.s[:, filled].T,
        norm=INTENSITY,
        cmap=COLORS,
        rasterized=True,
    )
    upper.set_ylabel("|q|  (1/Å)")
    upper.set_title("S(|q|): the Bragg peaks of solid argon die as it melts")
    for reflection in REFLECTIONS:
        upper.annotate(
            label(reflection),
            (1.005, _per_angstrom(crystal, reflection)),
            xycoords=("axes fraction", "data"),
            va="top"
            if reflection == (3, 1, 1)
            else "bottom"
            if reflection == (2, 2, 2)
            else "center",
            fontsize=9.5,
        )
    figure.colorbar(mesh, ax=upper, label="S(|q|)", pad=0.01, aspect=28, extend="both")
    _mark_melting(upper, record, heating, "white")
    melted = melting_output(record.peaks[:, 0], heating)
    if melted is not None:
        upper.annotate(
            "(111) below 1/10 ",
            (record.time[melted], 0.03),
            xycoords=("data", "axes fraction"),
            color="white",
            ha="right",
        )

    lower.plot(record.time, record.thermostat, color="0.7", linewidth=3, label="thermostat")
    lower.plot(record.time, record.temperature, color=HOT, linewidth=1.4, label="measured")
    lower.set_xlabel("time  (ps)")
    lower.set_ylabel("temperature  (K)", color=HOT)
    lower.set_ylim(bottom=0)
    lower.legend(loc="center left", bbox_to_anchor=(0.0, 0.55))
    peak = lower.twinx()
    peak.spines["right"].set_visible(True)
    peak.plot(record.time, record.peaks[:, 0], color=COLD, linewidth=1.4)
    peak.set_yscale("log")
    peak.set_ylabel("S at (111)", color=COLD)
    _mark_melting(lower, record, heating, "0.3")
    return Picture(
        "melting",
        _png(figure),
        "Map of the structure factor against time and |q|: bright lines at the Bragg peaks fade "
        "and end at melting, where the liquid's broad ring takes over; below, temperature rises.",
    )


def _spread(image: Floats) -> Floats:
    """Return the (H, W) image as a detector with `POINT_SPREAD` sees it; what is NaN stays so."""
    reach = np.arange(-4, 5)
    kernel = np.exp(-(reach**2) / (2 * POINT_SPREAD**2))
    kernel /= kernel.sum()
    seen = np.isfinite(image)
    light = np.where(seen, image, 0.0).astype(float)
    share = seen.astype(float)
    for axis in (0, 1):
        light = np.apply_along_axis(np.convolve, axis, light, kernel, mode="same")
        share = np.apply_along_axis(np.convolve, axis, share, kernel, mode="same")
    return np.divide(light, share, where=seen, out=np.full(image.shape, np.nan))


def _detector_axes(axes: Axes, record: Record, image: Floats) -> Any:
    axes.add_patch(Circle((0, 0), 0.12, color="0.25"))  # the beam stop: no light at q = 0
    shown = axes.imshow(
        _spread(image).T,
        origin="lower",
        extent=tuple(record.detector_extent),
        norm=INTENSITY,
        cmap=COLORS,
        interpolation="nearest",
    )
    axes.set_aspect("equal")
    for spine in axes.spines.values():
        spine.set_visible(False)
    return shown


def draw_detector(record: Record, crystal: Crystal, heating: Heating) -> Picture:
    """Draw what the detector sees, averaged over the cold crystal and over the melt."""
    figure, both = plt.subplots(1, 2, figsize=(10.4, 5.0), sharey=True)
    titles = ("before: crystal, {:.0f} K", "after: liquid, {:.0f} K")
    for axes, outputs, title in zip(
        both, (heating.cold_outputs(), heating.hot_outputs()), titles, strict=True
    ):
        image = np.asarray(record.detector[outputs], dtype=float).mean(axis=0)
        shown = _detector_axes(axes, record, image)
        axes.set_title(title.format(record.temperature[outputs].mean()))
        axes.set_xlabel("q along [001]  (1/Å)")
    both[0].set_ylabel("q along [110]  (1/Å)")
    a = crystal.lattice_constant * Argon.LENGTH * 1e10
    unit = 2 * np.pi / a
    for name, x, y in (
        ("111", unit, unit * 2**0.5),
        ("002", 2 * unit, 0.0),
        ("220", 0.0, unit * 8**0.5),
    ):
        both[0].annotate(
            name,
            (x, y),
            (0, 11),
            textcoords="offset points",
            ha="center",
            color="white",
            fontsize=9,
        )
    figure.colorbar(shown, ax=both, label="S(q)", aspect=28, pad=0.02, extend="both")
    return Picture(
        "detector",
        _png(figure),
        "Two detector images: Bragg spots on a rectangular net before, a round diffuse ring after.",
    )


def draw_film(record: Record, heating: Heating, frames: int = 6) -> Picture:
    """Draw the detector at a few moments around melting, one output each."""
    melted = melting_output(record.peaks[:, 0], heating) or heating.outputs - 1
    last = min(len(record.time) - 1, round(1.25 * melted))
    chosen = np.unique(np.linspace(heating.heating_starts // heating.every, last, frames).round())
    figure, strip = plt.subplots(1, len(chosen), figsize=(10.4, 2.15), squeeze=False)
    for axes, output in zip(strip[0], chosen.astype(int), strict=True):
        _detector_axes(axes, record, record.detector[output])
        axes.set_title(
            f"{record.time[output]:.1f} ps   {record.temperature[output]:.0f} K",
            fontsize=9,
            fontweight="normal",
            loc="center",
        )
        axes.set_xticks([])
        axes.set_yticks([])
    return Picture(
        "film", _png(figure), "The detector image at six moments: the spots fade, a ring appears."
    )


def draw_structure_factor(record: Record, crystal: Crystal, heating: Heating) -> Picture:
    """Draw S(|q|) of the cold crystal and of the melt."""
    figure, axes = plt.subplots(figsize=(5.4, 4.0))
    shown = (record.q > 0.5) & ~np.isnan(record.s).all(axis=0)
    for outputs, color, name in (
        (heating.cold_outputs(), COLD, "crystal"),
        (heating.hot_outputs(), HOT, "liquid"),
    ):
        temperature = record.temperature[outputs].mean()
        axes.semilogy(
            record.q[shown],
            record.s[outputs][:, shown].mean(axis=0),
            color=color,
            linewidth=1.4,
            label=f"{name}, {temperature:.0f} K",
        )
    for reflection in REFLECTIONS:
        q = _per_angstrom(crystal, reflection)
        axes.axvline(q, color="0.8", linewidth=0.8, zorder=0)
        ha = "right" if reflection == (3, 1, 1) else "left" if reflection == (2, 2, 2) else "center"
        axes.annotate(
            label(reflection), (q, 1.01), xycoords=("data", "axes fraction"), ha=ha, fontsize=9
        )
    axes.set_title("Structure factor", pad=20)
    axes.set_xlabel("|q|  (1/Å)")
    axes.set_ylabel("S(|q|)")
    axes.legend(loc="upper left")
    return Picture(
        "structure_factor",
        _png(figure),
        "Structure factor, logarithmic: sharp peaks of the crystal, smooth hump of the liquid.",
    )


def draw_speeds(record: Record, heating: Heating) -> Picture:
    """Draw speed histograms beside Maxwell and Boltzmann's curve at the measured temperature."""
    figure, axes = plt.subplots(figsize=(5.4, 4.0))
    centres = (record.speed_edges[1:] + record.speed_edges[:-1]) / 2
    widths = np.diff(record.speed_edges)
    half = np.searchsorted(record.temperature, record.temperature[-1] / 2)
    moments = (
        (heating.cold_outputs(), COLD),
        (slice(half, half + 1), MIDDLE),
        (heating.hot_outputs(), HOT),
    )
    for outputs, color in moments:
        counts = record.speed_counts[outputs].sum(axis=0)
        temperature = float(record.temperature[outputs].mean())
        expected = maxwell_boltzmann(
            record.speed_edges, temperature, float(record.boltzmann_per_mass)
        )
        axes.plot(centres, 1e3 * counts / counts.sum() / widths, "o", color=color, markersize=3.5)
        axes.plot(centres, 1e3 * expected / widths, color=color, label=f"{temperature:.0f} K")
    axes.set_title("Speeds: measured (dots), Maxwell–Boltzmann (lines)")
    axes.set_xlabel("speed  (m/s)")
    axes.set_ylabel("share of atoms per km/s")
    axes.set_ylim(bottom=0)
    axes.legend()
    return Picture(
        "speeds",
        _png(figure),
        "Histograms of speeds at three temperatures lie on Maxwell and Boltzmann's curves.",
    )


def draw_times(comparison: Comparison) -> Picture:
    """Draw when each job of either pipeline started, worked and ended."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(10.4, 2.7))
        colors = {"simulation": COLD, "analysis": HOT}
        rows = [("stream", s) for s in comparison.stream] + [("files", s) for s in comparison.files]
        for row, (_, span) in enumerate(rows):
            color = colors[span.job]
            axes.barh(row, span.ended - span.launched, left=span.launched, color=color, alpha=0.25)
            axes.barh(row, span.finished - span.ready, left=span.ready, color=color)
            if span.job == "analysis":
                axes.plot(span.first_output, row, "D", color="white", markeredgecolor="black")
        axes.set_yticks(range(len(rows)), [f"{name}: {span.job}" for name, span in rows])
        axes.invert_yaxis()
        ends = (comparison.stream_seconds, comparison.files_seconds)
        for row, seconds in zip((len(comparison.stream) - 1, len(rows) - 1), ends, strict=True):
            axes.annotate(f" {seconds:.1f} s", (seconds, row), va="center", fontweight="bold")
        axes.set_xlim(0, 1.08 * max(ends))
        axes.set_xlabel("seconds since the pipeline was started")
        return Picture(
            "times",
            _png(figure),
            f"Through the stream both jobs run side by side and end after {ends[0]:.1f} s; through "
            f"files one after the other, {ends[1]:.1f} s.",
        )
