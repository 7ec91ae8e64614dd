# SPDX-License-Identifier: Apache-2.0
"""`python -m fluvial` is the command `fluvial`."""

import sys


def main() -> None:
    """Run the command line.

    The word `run` needs nothing of files, and jobs start at once: the import of xarray would take
    longer than their start.
    """
    try:
        if sys.argv[1:2] == ["run"]:
            from .cli.run import main as called
        else:
            from .cli.command_line import main as called
    except ModuleNotFoundError as error:
        sys.exit(
            f"fluvial: the command needs more packages ({error}): pip install 'fluvial[files]'"
        )
    called()


if __name__ == "__main__":
    main()
