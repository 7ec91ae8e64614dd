# SPDX-License-Identifier: Apache-2.0
"""How figures look in the terminal's tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from bench.record import Metric, Sample

_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3))


def size_label(bytes_: int) -> str:
    """Write a size such as ``8 B``, ``64 KiB``, ``1 MiB``."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if bytes_ >= factor:
            return f"{bytes_ / factor:.4g} {unit}"
    return f"{bytes_} B"


def wide_console() -> Console:
    """Return a console that is wide enough for the tables when output goes to a file."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 150))


def spread(sample: Sample, metric: Metric) -> str:
    """``median (min–max)`` with one SI prefix for the three, or the single value.

    Figures in GB/s are shown in B/s with a prefix: they span nine decades.
    """
    factor = 1e9 if metric.unit == "GB/s" else 1.0
    median = sample.median * factor
    prefix, scale = "", 1.0
    if metric.unit in ("GB/s", "steps/s"):
        fitting = [p for p in _PREFIXES if abs(median) >= p[1]]
        prefix, scale = fitting[0] if fitting else ("", 1.0)
    shown = number(median / scale) + prefix
    if sample.runs == 1:
        return shown
    low, high = (number(value * factor / scale) for value in (sample.min, sample.max))
    return f"{shown} ({low}–{high})"


def number(value: float) -> str:
    """Write three significant digits without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.6f}"


def quantity(metric: Metric) -> str:
    """Return what a table holds and which end is good, for its caption."""
    unit = "B/s" if metric.unit == "GB/s" else metric.unit
    return f"{unit}; {'more' if metric.higher_is_better else 'less'} is better"


def machine_line(header: dict[str, Any]) -> str:
    """Return the machine and the versions in one paragraph."""
    machine, software = header["machine"], header["software"]
    caches = ", ".join(f"{name} {size_label(size)}" for name, size in machine["caches"].items())
    versions = ", ".join(f"{name} {version}" for name, version in software.items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {caches}, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, governor {machine['governor']}, "
        f"load {machine['load']} at the start; {versions}"
    )
