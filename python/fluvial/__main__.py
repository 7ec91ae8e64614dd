# SPDX-License-Identifier: Apache-2.0
"""`python -m fluvial` is the command `fluvial`."""

import sys

_OF_THE_COMMAND = ("cftime", "h5netcdf", "h5py", "rich", "typer", "xarray")


def main() -> None:
    """Run the command line. Words import what they need when they are called."""
    try:
        from .cli.command_line import main as called

        called()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OF_THE_COMMAND:
            raise
        packages = " ".join(_OF_THE_COMMAND)
        sys.exit(f"fluvial: the command needs more packages ({error}). Run: pip install {packages}")


if __name__ == "__main__":
    main()
