# SPDX-License-Identifier: Apache-2.0
"""A user-defined operator in Python: a class of four functions, run beside a built-in one."""

import numpy as np

import fluvial as fl


class GeometricMean(fl.ops.Operator):
    """exp(Σ ln x / n); the state is a pair (Σ ln x, n)."""

    def identity(self, shape):
        """Return the state that has seen nothing."""
        return 0.0, 0

    def absorb(self, partial, arrays, offset):
        """Return the state after one chunk more, wherever it lies."""
        (x,) = arrays
        return partial[0] + np.log(x).sum(), partial[1] + x.size

    def merge(self, a, b):
        """Return what two ranks, or two chunks, know together."""
        return a[0] + b[0], a[1] + b[1]

    def finish(self, partial):
        """Return the result."""
        return np.exp(partial[0] / partial[1])


x = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
geometric, arithmetic = fl.reduce([GeometricMean(), "mean"], x)
print(f"geometric {geometric:.4f}, arithmetic {arithmetic:.3f}")
print("of each row:", fl.reduce(GeometricMean(), x.reshape(2, 4), over=1))
