# SPDX-License-Identifier: Apache-2.0
"""The last job of a chain: the density from the middle of the drop outwards, a line a step.

python radial_profile.py density
"""

import sys

import numpy as np

import fluvial as fl

with fl.open(sys.argv[1]) as series:
    for step in series:
        mesh = step["meshes/density"]
        density = np.asarray(mesh.read())
        atoms = density.sum() * mesh.attrs["gridSpacing"][0] ** 3
        middle = len(density) / 2
        radius = np.linalg.norm(np.indices(density.shape) + 0.5 - middle, axis=0)
        shells = [(radius >= r) & (radius < r + 2) for r in range(0, int(middle), 2)]
        profile = " ".join(f"{density[shell].mean():.2f}" for shell in shells)
        print(f"{step.iteration}: {atoms:.0f} atoms, {profile}")
