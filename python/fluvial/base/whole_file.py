# SPDX-License-Identifier: Apache-2.0
"""Files that are there when they are whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """Give a path beside the target; what was written there is put in its place at the end.

    After an exception the target is as it was, and nothing is left beside it.
    """
    partial = f"{path}.partial-{os.getpid()}"
    try:
        yield partial
        os.replace(partial, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
