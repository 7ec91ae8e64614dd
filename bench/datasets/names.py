# SPDX-License-Identifier: Apache-2.0
"""What the datasets are called."""


def names_of(count: int) -> list[str]:
    """Return `count` names of equal length."""
    return [f"meshes/field{number:05d}/x" for number in range(count)]
