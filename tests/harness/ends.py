# SPDX-License-Identifier: Apache-2.0
"""Both ends of a series in one process."""

import contextlib

import fluvial as fl


@contextlib.contextmanager
def both_ends(tmp_path, **options):
    """Open a writer with these options and its reader; give both."""
    with (
        fl.open("s", "w", readers=0, directory=tmp_path, **options) as writer,
        fl.open("s", directory=tmp_path, step_timeout=10) as reader,
    ):
        yield writer, reader
