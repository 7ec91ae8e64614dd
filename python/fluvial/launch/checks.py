# SPDX-License-Identifier: Apache-2.0
"""What a job is started with, or an error that names what is wrong with it.

Like all of `launch` it works where the package is not built: errors are Python's own.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import operator
import os
import reprlib
from collections.abc import Sequence
from typing import SupportsIndex


def check_ranks(ranks: object) -> None:
    """Refuse what is no number of ranks."""
    if not isinstance(ranks, SupportsIndex) or isinstance(ranks, bool) or operator.index(ranks) < 1:
        raise _wrong("ranks is no number of ranks", ranks, "an int from 1")


def check_argv(argv: object) -> None:
    """Refuse what is no command line; a str would be one word a letter."""
    words = argv if isinstance(argv, Sequence) and not isinstance(argv, str | bytes) else ()
    if not words or not all(isinstance(word, str | os.PathLike) for word in words):
        allowed = "a sequence of words: the program and its arguments, as in ['build/heat', '100']"
        raise _wrong("argv is no command line", argv, allowed)


def check_timeout(timeout: object) -> None:
    """Refuse what is no time limit; None is none."""
    seconds = math.nan
    if isinstance(timeout, numbers.Real) and not isinstance(timeout, bool):
        with contextlib.suppress(OverflowError):  # an int beyond float64
            seconds = float(timeout)
    if timeout is not None and not 0 < seconds < math.inf:
        allowed = "a number of seconds above 0, or None for no limit"
        raise _wrong("timeout is no time limit", timeout, allowed)


def _wrong(what: str, value: object, allowed: str) -> ValueError:
    return ValueError(f"{what}: got {reprlib.repr(value)}; allowed: {allowed}")
