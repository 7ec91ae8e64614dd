# SPDX-License-Identifier: Apache-2.0
"""A damped oscillation that has been measured, and how far a model is from it."""

import numpy as np

TIMES = np.linspace(0, 6, 200)
MEASURED = np.exp(-0.7 * TIMES) * np.cos(1.3 * TIMES)


def model(decay, rate):
    """Return the root mean square of the differences."""
    return np.sqrt(np.mean((np.exp(-decay * TIMES) * np.cos(rate * TIMES) - MEASURED) ** 2))


def best(points):
    """Return the point with the least misfit: decay, rate, misfit."""
    return min(map(tuple, points), key=lambda point: point[2])
