# SPDX-License-Identifier: Apache-2.0
"""The program of `bench.stage.with_sst`, line by line, by Fluvial's engine of ADIOS2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.stage import with_sst


class _ByPlugin:
    def parameters(
        self, folder: Path, stream: str, settings: dict[str, Any]
    ) -> tuple[str, dict[str, str]]:
        """Return the engine and what it is told."""
        return "plugin", {
            "PluginName": stream,
            "PluginLibrary": "fluvial_adios2",
            "directory": str(folder),
            "queue_steps": str(settings["queue_steps"]),
            "rendezvous_timeout": "30",
        }


class Writer(_ByPlugin, with_sst.Writer):
    """Puts one float64 array a step; the constructor blocks until the reader has come."""


class Reader(_ByPlugin, with_sst.Reader):
    """Iterates over the steps' arrays; the array is the same one each time, refilled."""
