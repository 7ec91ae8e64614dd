# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes as options take them."""

import numpy as np
import pytest
from fluvial.base.byte_count import to_bytes

import fluvial as fl


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 0),
        (None, 0),
        (np.int64(7), 7),
        ("8", 8),
        ("8B", 8),
        ("64Ki", 2**16),
        ("64 KiB", 2**16),
        ("64 KB", 64_000),
        ("1.5Mi", 3 * 2**19),
        ("2 GiB", 2**31),
        ("2GB", 2_000_000_000),
        ("1Ti", 2**40),
    ],
)
def test_words_for_numbers_of_bytes(size, expected):
    assert to_bytes(size, "buffer") == expected


@pytest.mark.parametrize("size", ["", "Mi", "8K", "8 mib", "eight", "1e999", "nan", "8 MiB MiB"])
def test_words_that_are_no_number_of_bytes(size):
    with pytest.raises(fl.InvalidArgument, match=r"^buffer: cannot read a number of bytes: got '"):
        to_bytes(size, "buffer")
