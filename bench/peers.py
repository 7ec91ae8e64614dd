# SPDX-License-Identifier: Apache-2.0
"""Peers live in a Python environment of their own, so that they never meet the project's."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_INSTALL_TIMEOUT_S = 300
_IMPORT_TIMEOUT_S = 60


@dataclass(frozen=True)
class Environment:
    """A Python that has a peer, and the peer's version; or the reason why there is none."""

    python: Path | None
    version: str
    missing: str = ""

    @property
    def present(self) -> bool:
        """Whether the peer can run."""
        return self.python is not None


def provide(folder: Path, package: str, requirement: str, *also: str) -> Environment:
    """Return an environment under `folder` in which `package` imports; installed on first use.

    `requirement` and `also` are what pip installs.  Nothing raises: a peer that cannot be had is
    returned as missing with the reason, to be shown in the table.
    """
    python = folder / "bin" / "python"
    version = _version(python, package) if python.exists() else None
    if version is None:
        try:
            if not python.exists():
                venv.create(folder, with_pip=True)
            subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", requirement, *also],
                check=True,
                capture_output=True,
                text=True,
                timeout=_INSTALL_TIMEOUT_S,
            )
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or str(error)).strip().splitlines()
            reason = lines[-1] if lines else str(error)
            return Environment(None, "", f"pip could not install {requirement}: {reason}")
        except (OSError, subprocess.SubprocessError) as error:
            return Environment(None, "", f"could not install {requirement}: {error}")
        version = _version(python, package)
    if version is None:
        return Environment(None, "", f"{requirement} is installed but {package} does not import")
    return Environment(python, version)


def present_here(package: str, variables: Mapping[str, str]) -> Environment:
    """Return the running Python as an environment, if `package` imports given `variables`."""
    version = _version(Path(sys.executable), package, variables)
    if version is None:
        return Environment(None, "", f"{package} does not import in {sys.executable}")
    return Environment(Path(sys.executable), version)


def _version(python: Path, package: str, variables: Mapping[str, str] | None = None) -> str | None:
    code = (
        f"import {package}, importlib.metadata as m\n"
        f"try: print(m.version({package!r}))\n"
        f"except m.PackageNotFoundError: print(getattr({package}, '__version__', 'unknown'))"
    )
    try:
        done = subprocess.run(
            [str(python), "-c", code],
            capture_output=True,
            text=True,
            timeout=_IMPORT_TIMEOUT_S,
            check=False,
            env={**os.environ, **(variables or {})},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 and done.stdout else None
