# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file with everything in it, and the pictures beside it as PNG."""

from __future__ import annotations

import base64
import os
import pathlib
import platform
from collections.abc import Iterable
from html import escape
from string import Template

import numpy as np

from bench.machine import caption, describe_machine
from demo.comparison import Comparison
from demo.crystal import Argon
from demo.physics import Check, fall, melting_output
from demo.pictures import Picture, draw_all, draw_times
from demo.protocol import Plan
from demo.record import Record

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fluvial demo: a crystal melts</title>
<style>
$style</style>
</head>
<body>
<main>
<h1>A crystal melts while it is watched</h1>
<p class="lead">$lead</p>
<p>$verdict</p>
<div class="tiles">
$tiles</div>
$melting
<h2>What the detector sees</h2>
$detector
$film
<h2>Spectra</h2>
<div class="pair">
$structure_factor
$speeds
</div>
<h2>The same through files</h2>
<p>$files_text</p>
$times
<div class="wide">
$times_table
</div>
<h2>Is it physics?</h2>
<div class="wide">
$checks
</div>
<h2>How it was run</h2>
<div class="wide">
$settings
</div>
</main>
</body>
</html>
""")

_CAPTIONS = {
    "melting": "Structure factor averaged over directions, one column an output of the simulation. "
    "Each bright line is a family of lattice planes; heat dims it (Debye and Waller), melting ends "
    "it, and the broad ring of the liquid is what remains. The dashed line marks where (111) has "
    "lost nine tenths of its height.",
    "detector": "S(q) on a plane detector with the beam along [1 -1 0], averaged over the outputs "
    "of the cold hold and over the last tenth of the run, drawn with a point spread of 0.8 pixels.",
    "film": "The same detector at single outputs.",
    "structure_factor": "Averaged over directions and over the outputs of either hold.",
    "speeds": "All atoms, as counted by the histogram operator; the curves have no free parameter.",
    "times": "From launch to the last process gone. Pale: starting and ending; diamonds: the "
    "first result of an analysis. Through the stream both jobs work at once; through files the "
    "analysis has to wait for the simulation.",
}


def write(
    out: pathlib.Path, plan: Plan, record: Record, checks: list[Check], comparison: Comparison
) -> pathlib.Path:
    """Write ``report.html`` and ``pictures/*.png`` into `out`; returns the report's path."""
    pictures = [*draw_all(record, plan.crystal, plan.heating), draw_times(comparison)]
    folder = out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        (folder / f"{picture.name}.png").write_bytes(picture.png)
    page = out / "report.html"
    page.write_text(render(plan, record, checks, comparison, pictures), encoding="utf-8")
    return page


def render(
    plan: Plan,
    record: Record,
    checks: list[Check],
    comparison: Comparison,
    pictures: Iterable[Picture],
) -> str:
    """Return the page; it refers to nothing outside itself."""
    right = all(check.passed for check in checks)
    return _PAGE.substitute(
        style=pathlib.Path(__file__).with_name("report.css").read_text(encoding="utf-8"),
        lead=escape(
            f"{plan.crystal.atoms:,} atoms of solid argon are heated from "
            f"{record.thermostat[0]:.0f} K to {record.thermostat[-1]:.0f} K at constant volume in "
            f"a LAMMPS job on {_ranks(plan.writers)}. Every {plan.heating.every} steps it hands "
            "its atoms to a second, separately launched MPI job on "
            f"{_ranks(plan.readers)}, which computes the X-ray scattering pattern where the data "
            f"lie in shared memory. {comparison.headline()}"
        ),
        verdict='<span class="verdict">the physics is right</span>'
        if right
        else '<span class="verdict wrong">the physics is not right</span>',
        tiles=_tiles(plan, record, comparison),
        files_text=_files_text(comparison),
        times_table=_times_table(comparison),
        checks=_checks_table(checks),
        settings=_settings_table(plan, comparison),
        **{picture.name: _figure(picture) for picture in pictures},
    )


def _ranks(count: int) -> str:
    return f"{count} ranks" if count > 1 else "1 rank"


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    return (
        f'<figure><img alt="{escape(picture.alternative)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(_CAPTIONS[picture.name])}</figcaption></figure>"
    )


def _tiles(plan: Plan, record: Record, comparison: Comparison) -> str:
    peak = record.peaks[:, 0]
    melted = melting_output(peak, plan.heating)
    latencies = 1e3 * np.asarray(record.latency)
    moment = (
        f"at {record.time[melted]:.1f} ps, {record.temperature[melted]:.0f} K"
        if melted is not None
        else "the crystal has not melted"
    )
    tiles = [
        (
            f"{comparison.first_results[0]:.1f} s",
            f"to the first result; through files {comparison.first_results[1]:.1f} s",
        ),
        (f"{fall(peak, plan.heating):,.0f}×", f"fall of (111); below 1/10 {moment}"),
        (f"{comparison.bytes_moved / 1e6:,.0f} MB", "of atoms that never touched the disk"),
        (
            f"{comparison.throughput / 1e6:.1f} MB/s",
            "through the stream at the simulation's pace; "
            f"staged at {comparison.staging_rate / 1e9:.1f} GB/s a rank",
        ),
        (
            f"{np.median(latencies):.0f} ms",
            f"from output to result (median; {np.max(latencies):.0f} ms at most); "
            f"reader's lag at most {comparison.lag_most} steps",
        ),
        (
            f"{comparison.stream_seconds:.1f} s",
            f"start to end; through files {comparison.files_seconds:.1f} s",
        ),
    ]
    return "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(text)}</span></div>\n'
        for value, text in tiles
    )


def _files_text(comparison: Comparison) -> str:
    return escape(
        f"The same simulation wrote its {comparison.bytes_moved / 1e6:,.0f} MB as one openPMD HDF5 "
        "file an output (gathered on rank 0: PyPI's openpmd-api has no MPI in it); then the same "
        "analysis read them, each rank its share. No write was forced to the disk, so the files "
        "were read from the kernel's page cache: that favours files. Forcing them onto the disk "
        f"took another {comparison.syncing:.2f} s afterwards, not counted. With simulation and "
        "analysis sharing the same cores, the work itself takes as long either way; the stream "
        f"saves the files and the waiting: its first result was there after "
        f"{comparison.first_results[0]:.1f} s, that of the files after "
        f"{comparison.first_results[1]:.1f} s."
    )


def _times_table(comparison: Comparison) -> str:
    columns = ("simulating", "writing", "waiting", "reading", "analysing")
    rows = []
    for name, seconds in comparison.figures.items():
        pipeline, job = name.split()
        cells = "".join(
            f'<td class="number">{seconds[c]:.2f}</td>' if c in seconds else "<td></td>"
            for c in columns
        )
        rows.append(f"<tr><td>{pipeline}</td><td>{job}</td>{cells}</tr>")
    head = "".join(f'<th class="number">{c} (s)</th>' for c in columns)
    return (
        f"<table><thead><tr><th>through</th><th>job</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
        "<p>Seconds on rank 0. Through the stream, a writer's writing holds its waiting for the "
        "analysis too, when the queue is full; reading is part of analysing: the data are seen "
        "where they lie.</p>"
    )


def _checks_table(checks: list[Check]) -> str:
    rows = "".join(
        f'<tr><td class="{"good" if c.passed else "bad"}">{"yes" if c.passed else "NO"}</td>'
        f"<td>{escape(c.name)}</td><td>{escape(c.found)}</td><td>{escape(c.allowed)}</td></tr>"
        for c in checks
    )
    return (
        "<table><thead><tr><th></th><th>check</th><th>found</th><th>allowed</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _settings_table(plan: Plan, comparison: Comparison) -> str:
    crystal, heating = plan.crystal, plan.heating
    cells = " × ".join(str(n) for n in crystal.cells)
    settings = [
        (
            "crystal",
            f"fcc, {crystal.atoms:,} atoms ({cells} cells of two), axes [001], [110], [1 -1 0]",
        ),
        (
            "forces",
            "Lennard-Jones argon (epsilon/k = 119.8 K, sigma = 3.405 Å), cut at 2.5 sigma",
        ),
        (
            "heating",
            f"{heating.steps:,} steps of {1e15 * heating.timestep * Argon.TIME:.1f} fs: cold hold "
            f"to step {heating.heating_starts}, linear to step {heating.heating_ends}, hot hold; "
            "stochastic velocity rescaling",
        ),
        ("output", f"every {heating.every} steps: positions and velocities, float64"),
        ("ranks", f"simulation {plan.writers}, analysis {plan.readers}, on {os.cpu_count()} cores"),
        (
            "the analysis read",
            f"{comparison.bytes_viewed / 1e6:,.1f} MB as views, "
            f"{comparison.bytes_copied / 1e6:,.1f} MB copied",
        ),
        (
            "machine",
            f"{caption(describe_machine())}, {platform.machine()}, "
            f"Python {platform.python_version()}",
        ),
        *comparison.versions.items(),
    ]
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in settings)
    return f"<table><tbody>{rows}</tbody></table>"
