# SPDX-License-Identifier: Apache-2.0
"""`python -m fluvial` is the command `fluvial`."""

from .cli import main

if __name__ == "__main__":
    main()
