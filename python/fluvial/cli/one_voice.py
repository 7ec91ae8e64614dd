# SPDX-License-Identifier: Apache-2.0
"""Help and errors of a command line are the same on all ranks of a job, and printed by the first.

Which rank this is, the launcher says: MPI need not start for that.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from ..launch.supervisor import RANK_VARIABLES

_of_word: list[tuple[TextIO, TextIO]] = []
"""The streams that a word has again."""


@contextlib.contextmanager
def one_voice() -> Iterator[None]:
    """Inside of it only the first rank prints, and others within a word, by `word_speaks`."""
    ranks = (os.environ[name] for name in RANK_VARIABLES if name in os.environ)
    if next(ranks, "0") == "0":
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        _of_word.append((sys.stdout, sys.stderr))
        try:
            with _streams(nowhere, nowhere):
                yield
        finally:
            _of_word.pop()


@contextlib.contextmanager
def word_speaks() -> Iterator[None]:
    """Inside of it every rank prints: a word knows what is to be said once."""
    if not _of_word:
        yield
        return
    with _streams(*_of_word[-1]):
        yield


@contextlib.contextmanager
def _streams(out: TextIO, error: TextIO) -> Iterator[None]:
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        yield
