# SPDX-License-Identifier: Apache-2.0
"""Checks that Fluvial reads from a file what the file's own library put there."""

import numpy as np
from fluvial._core import FileDataset, open_file


def check_dataset(dataset: FileDataset, expected: np.ndarray, seed: int = 1) -> None:
    """Compare the whole, and boxes of any kind, bit for bit."""
    expected = np.asarray(expected)
    assert dataset.shape == expected.shape
    native = expected.astype(expected.dtype.newbyteorder("="))
    assert np.dtype(dataset.dtype) == native.dtype
    rng = np.random.default_rng(seed)
    boxes = [(tuple(0 for _ in expected.shape), expected.shape)]
    for _ in range(12):
        start = tuple(int(rng.integers(0, n + 1)) for n in expected.shape)
        count = tuple(
            int(rng.integers(0, n - s + 1)) for n, s in zip(expected.shape, start, strict=True)
        )
        boxes.append((start, count))
    for start, count in boxes:
        box = tuple(slice(s, s + c) for s, c in zip(start, count, strict=True))
        got = dataset.read(start, count)
        assert got.dtype == native.dtype
        assert got.shape == native[box].shape
        assert got.tobytes() == np.ascontiguousarray(native[box]).tobytes(), (start, count, seed)


def check_file(path, name: str, expected: np.ndarray) -> FileDataset:
    """Open the dataset, compare it, and hand it on."""
    dataset = open_file(str(path)).dataset(name)
    check_dataset(dataset, expected)
    return dataset
