# SPDX-License-Identifier: Apache-2.0
"""Runs a contestant's command to its end and returns the JSON objects that it prints."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

_LAST_WORDS = 1500


class RunError(RuntimeError):
    """A command failed, took too long, or printed no answer."""


def run(
    command: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the last line that `command` prints, a JSON object; else as `run_lines`."""
    return run_lines(command, limit_s, environment)[-1]


def run_lines(
    command: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return all lines that `command` prints and that are JSON objects; at least one.

    The whole process group is killed after `limit_s`.  Errors: RunError with the command's last
    words.
    """
    shown = " ".join(command[:4])
    with subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{shown} … did not end within {limit_s:.0f} s") from error
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise RunError(
            f"{shown} … ended with status {process.returncode}: {output[-_LAST_WORDS:].strip()}"
        )
    lines = [line for line in output.splitlines() if line.startswith("{")]
    try:
        answers: list[dict[str, Any]] = [json.loads(line) for line in lines]
    except json.JSONDecodeError:
        answers = []
    if not answers:
        said = output[-_LAST_WORDS:].strip()
        raise RunError(f"{shown} … printed no answer, but: {said}")
    return answers
