# SPDX-License-Identifier: Apache-2.0
"""The layout of the scan's picture: how far ahead, by task and format."""

from __future__ import annotations

from typing import Any

from bench.machine import caption
from bench.plotter import Bars, Layout
from bench.scan.cases import CDF5, FORMATS, HDF5, NETCDF4
from bench.scan.contestants import LIMIT, PYTHON, READ
from bench.scan.report import BEST_MPI, BEST_TOOL, COLD_TIME, TIME, Figures
from bench.table import size_label

_COLOURS = {CDF5: "#0b6fb8", HDF5: "#14a37f", NETCDF4: "#e6a23c"}


def layout(header: dict[str, Any], figures: Figures) -> Layout:
    """Return a panel for each thing that Fluvial is held against."""
    machine, software = header["machine"], header["software"]
    series = tuple(
        (format_, _COLOURS[format_], {"format": format_, "face": PYTHON}) for format_ in FORMATS
    )

    def panel(title: str, peer: str, *marks: tuple[float, str], metric: str = TIME.name) -> Bars:
        return Bars(title, "its time ÷ ours", metric, "task", series, peer, marks)

    panels = [
        panel("Beside the limit: pread and bare loops", LIMIT, (0.9, "0.9")),
        panel(
            "Beside the fastest of xarray, CDO and NCO",
            BEST_TOOL,
            (10.0, "10×"),
            (6.0, "6×, compressed"),
        ),
        panel(
            "Beside the best traditional MPI way",
            BEST_MPI,
            (4.0, "4×, whole"),
            (2.0, "2×, subset"),
        ),
    ]
    if any(cold for _, _, _, cold in figures.seconds):
        mark = (1 / 1.15, "1.15 times the time of reading")
        name = COLD_TIME.name
        panels.append(panel("Cold, beside a loop that only reads", READ, mark, metric=name))
    return Layout(
        title="Reductions of a variable in a file: how many times faster",
        subtitle=(
            f"{size_label(figures.bytes)} of float32, {figures.ranks} ranks; {caption(machine)}; "
            f"Fluvial {software.get('fluvial', '—')} from Python; medians of the rounds' ratios"
        ),
        panels=tuple(panels),
    )
