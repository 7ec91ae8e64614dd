# SPDX-License-Identifier: Apache-2.0
"""The options that all benches share, and where their results go."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / ".build"
SITE = BUILD / "mpich" / "prefix" / "site"

Json = Annotated[
    Path | None,
    typer.Option("--json", help="Append results here; default: .build/bench/NAME.jsonl."),
]
Png = Annotated[
    Path | None,
    typer.Option("--png", help="Draw the picture here; default: beside the JSON file."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and runs: under 60 s.")]
Runs = Annotated[
    int | None, typer.Option("--runs", min=1, help="Rounds in which the contestants alternate.")
]


@dataclass(frozen=True)
class Output:
    """Where one run of a bench writes."""

    json: Path
    png: Path

    @classmethod
    def of(cls, bench: str, json: Path | None, png: Path | None) -> Output:
        """Return the files as asked for on the command line, or beside one another by default."""
        lines = json if json is not None else BUILD / "bench" / f"{bench}.jsonl"
        return cls(lines, png if png is not None else lines.with_suffix(".png"))


def header(bench: str, software: dict[str, Any]) -> dict[str, Any]:
    """Return the line before a run's records: machine, versions, command, commit, time."""
    return {
        "bench": bench,
        "machine": describe_machine(),
        "software": {"python": sys.version.split()[0], **software},
        "command": shlex.join(["./run", "bench", *sys.argv[1:]]),
        "commit": _commit(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def fluvial_path() -> str:
    """Return the PYTHONPATH that finds Fluvial: the environment's own, then the built tree."""
    paths = [os.environ.get("PYTHONPATH", "")]
    if SITE.is_dir() and str(SITE) not in paths[0].split(os.pathsep):
        paths.append(str(SITE))
    return os.pathsep.join(path for path in paths if path)


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"
