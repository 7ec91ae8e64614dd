# SPDX-License-Identifier: Apache-2.0
"""The command `fluvial`."""

from .command_line import app, main

__all__ = ["app", "main"]
