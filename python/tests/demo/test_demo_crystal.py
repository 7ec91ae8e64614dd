# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from demo.crystal import FEWEST_ATOMS, REFLECTIONS, STRIDE, Argon, Crystal, label


def atoms_of(crystal):
    """Return the (n, 3) positions of the perfect crystal, as simulate.py's lattice makes them."""
    cell = crystal.lattice_constant * np.array([1, 0.5**0.5, 0.5**0.5])
    corners = np.stack(np.meshgrid(*map(np.arange, crystal.cells), indexing="ij"), -1)
    return np.concatenate([corners.reshape(-1, 3), corners.reshape(-1, 3) + 0.5]) * cell


@pytest.mark.parametrize("reflection", REFLECTIONS, ids=label)
def test_a_perfect_crystal_scatters_fully_into_every_star(crystal, reflection):
    atoms = atoms_of(crystal)
    assert len(atoms) == crystal.atoms
    for multiple in crystal.star(reflection):
        q = 2 * np.pi * np.array(multiple) / crystal.box
        amplitude = np.exp(1j * atoms @ q).sum()
        assert abs(amplitude) ** 2 / len(atoms) == pytest.approx(len(atoms), rel=1e-9)
        assert np.linalg.norm(q) == pytest.approx(crystal.q_norm(reflection), rel=1e-12)


def test_and_not_at_forbidden_reflections(crystal):
    atoms = atoms_of(crystal)
    for multiple in ((crystal.cells[0], 0, 0), (0, crystal.cells[1] // 2, crystal.cells[2] // 2)):
        q = 2 * np.pi * np.array(multiple) / crystal.box
        assert abs(np.exp(1j * atoms @ q).sum()) < 1e-6


@pytest.mark.parametrize(
    ("reflection", "members"), list(zip(REFLECTIONS, (8, 6, 12, 24, 8), strict=True))
)
def test_a_star_lists_one_of_each_opposite_pair(crystal, reflection, members):
    star = crystal.star(reflection)
    assert len(star) == members // 2
    assert not {tuple(-i for i in m) for m in star} & set(star)
    assert all(i % STRIDE == 0 for m in star for i in m), "a thinned q grid would miss it"


@pytest.mark.parametrize("fewest", [FEWEST_ATOMS, 4_000, 30_000, 32_001, 250_000])
def test_crystals_have_at_least_the_atoms_asked_for_and_are_nearly_cubes(fewest):
    crystal = Crystal.with_atoms(fewest)
    assert fewest <= crystal.atoms < 1.6 * fewest
    assert max(crystal.box) / min(crystal.box) < 1.6
    assert min(crystal.box) > 2 * (2.5 + 0.3), "the forces would reach around the box"
    assert crystal.atoms / math.prod(crystal.box) == pytest.approx(crystal.density)


def test_the_crystal_is_argons():
    angstrom = Crystal((4, 4, 4)).lattice_constant * Argon.LENGTH * 1e10
    assert angstrom == pytest.approx(5.466, abs=0.002)
    assert pytest.approx(2.156e-12, rel=1e-3) == Argon.TIME


@pytest.mark.parametrize("atoms", [0, FEWEST_ATOMS - 1, 10**9])
def test_too_few_and_too_many_atoms_are_refused(atoms):
    with pytest.raises(ValueError, match=str(atoms)):
        Crystal.with_atoms(atoms)
