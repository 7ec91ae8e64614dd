# SPDX-License-Identifier: Apache-2.0
"""Jobs of the bench, whose first rank prints the figures."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fluvial.launch import Launcher


def figures_of(launcher: Launcher, command: list[str], site: str, limit_s: float) -> Any:
    """Run a job; return what it prints last, a line of JSON."""
    ended = subprocess.run(
        command,
        env=launcher.environment({**os.environ, "PYTHONPATH": site}),
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"the job ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return json.loads(ended.stdout.splitlines()[-1])
