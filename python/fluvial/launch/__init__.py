# SPDX-License-Identifier: Apache-2.0
"""MPI jobs side by side on one machine, of which no process stays behind."""

from .job import Job
from .launcher import Launcher

__all__ = ["Job", "Launcher"]
