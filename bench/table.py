# SPDX-License-Identifier: Apache-2.0
"""How figures look in the terminal's tables."""

from __future__ import annotations

from typing import Any

from bench.record import Metric, Sample


def size_label(bytes_: int) -> str:
    """A size such as ``8 B``, ``64 KiB``, ``1 MiB``."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if bytes_ >= factor:
            return f"{bytes_ / factor:.4g} {unit}"
    return f"{bytes_} B"


def spread(sample: Sample, metric: Metric) -> str:
    """``median (min–max)``, or the single value, in the metric's unit."""
    del metric
    if sample.runs == 1:
        return number(sample.median)
    return f"{number(sample.median)} ({number(sample.min)}–{number(sample.max)})"


def number(value: float) -> str:
    """Three significant digits, without an exponent from 0.001 on."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:.3g}"


def quantity(metric: Metric) -> str:
    """What a table holds and which end is good, for its caption."""
    return f"{metric.unit}; {'more' if metric.higher_is_better else 'less'} is better"


def machine_line(header: dict[str, Any]) -> str:
    """The machine and the versions in one paragraph."""
    machine, software = header["machine"], header["software"]
    caches = ", ".join(f"{name} {size_label(size)}" for name, size in machine["caches"].items())
    versions = ", ".join(f"{name} {version}" for name, version in software.items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {caches}, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, governor {machine['governor']}, "
        f"load {machine['load']} at the start; {versions}"
    )
