# SPDX-License-Identifier: Apache-2.0
import doctest

import fluvial.compute.structure_factor
import numpy as np
import pytest

import fluvial as fl

BOX = (7.3, 5.1, 11.9)
SEED = 20170726


@pytest.fixture(scope="module")
def atoms():
    print(f"seed {SEED}")
    return np.random.default_rng(SEED).uniform(0, BOX, (400, 3))


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(SEED + 1).uniform(-0.5, 2, 400)


def direct(q, r, w=1.0):
    return (w * np.exp(1j * (q @ r.T))).sum(axis=1)


def fcc(cells):
    corners = np.stack(np.meshgrid(*[range(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    return (corners + basis).reshape(-1, 3)


OPERATORS = {
    "sphere": lambda: fl.ops.StructureFactor(BOX, 6.0),
    "strided sphere": lambda: fl.ops.StructureFactor(np.array(BOX), 9, stride=(2, 1, 3)),
    "detector": lambda: fl.ops.StructureFactor.detector(BOX, (8.0, 5.0), axes=(2, 0), stride=2),
    "plane": lambda: fl.ops.StructureFactor.plane((0.3, 0.1, -0.2), (0, 1, 0.7), (9, 4)),
    "list": lambda: fl.ops.StructureFactor.at([[0, 0, 0], [1, -2, 3], [30, 20, -10]]),
}


@pytest.mark.parametrize("kind", OPERATORS)
def test_agrees_with_direct_evaluation(kind, atoms, weights):
    op = OPERATORS[kind]()
    x, y, z = atoms.T  # strided views
    pattern = fl.reduce(op, [x, y, z], weights=weights)
    expected = direct(pattern.q, atoms, weights)
    np.testing.assert_allclose(pattern.amplitude, expected, rtol=0, atol=1e-9 * 400)
    np.testing.assert_allclose(pattern.s, np.abs(expected) ** 2 / 400, rtol=0, atol=1e-6)
    assert pattern.n_atoms == 400
    assert pattern.sum_w == pytest.approx(weights.sum())
    assert pattern.sum_w2 == pytest.approx((weights**2).sum())
    assert len(op) == len(pattern.q) == len(pattern.s)
    np.testing.assert_array_equal(op.q, pattern.q)


def test_indices_and_vectors_belong_together(atoms):
    pattern = fl.reduce(fl.ops.StructureFactor(BOX, 9, stride=(2, 1, 3)), list(atoms.T))
    np.testing.assert_allclose(pattern.q, 2 * np.pi * pattern.hkl / BOX)
    assert not (pattern.hkl % (2, 1, 3)).any()
    assert np.linalg.norm(pattern.q, axis=1).max() <= 9
    assert fl.reduce(OPERATORS["list"](), list(atoms.T)).hkl is None


def test_float32_positions_and_products(atoms):
    op = fl.ops.StructureFactor(BOX, 6.0, precision="float32")
    single = atoms.astype(np.float32)
    pattern = fl.reduce(op, [np.ascontiguousarray(c) for c in single.T])
    error = np.abs(pattern.amplitude - direct(pattern.q, single.astype(float))).max()
    assert 1e-12 * 400 < error < 1e-6 * 400


def test_masked_atoms_do_not_count(atoms):
    op = fl.ops.StructureFactor(BOX, 6.0)
    mask = np.arange(400) % 3 == 1
    holed = atoms.copy()
    holed[~mask] = np.nan
    pattern = fl.reduce(op, list(holed.T), mask=mask)
    kept = fl.reduce(op, list(atoms[mask].T))
    assert pattern.n_atoms == kept.n_atoms == mask.sum()
    np.testing.assert_allclose(pattern.amplitude, kept.amplitude, atol=1e-10)


def test_no_atoms_give_nan():
    pattern = fl.reduce(fl.ops.StructureFactor(BOX, 3.0), [np.empty(0)] * 3)
    assert pattern.n_atoms == 0
    assert np.isnan(pattern.s).all()


def test_a_crystal_has_its_peaks_where_the_lattice_says():
    cells = 4
    pattern = fl.reduce(fl.ops.StructureFactor((cells,) * 3, 15.0), list(fcc(cells).T))
    assert pattern.peak((1, 1, 1), cells=cells) == pytest.approx(256)
    assert pattern.peak((-4, 4, -4)) == pytest.approx(256)
    assert pattern.peak((2, 0, 0), cells=(4, 4, 4)) == pytest.approx(256)
    assert abs(pattern.peak((1, 0, 0), cells=cells)) < 1e-9
    radial = pattern.radial(dq=0.05)
    first = radial.q[np.flatnonzero(np.nan_to_num(radial.s) > 1)[0]]
    assert first == pytest.approx(2 * np.pi * np.sqrt(3), abs=0.025)


def test_radial_average_is_the_mean_of_each_shell(atoms):
    pattern = fl.reduce(fl.ops.StructureFactor(BOX, 6.0), list(atoms.T))
    length = np.linalg.norm(pattern.q, axis=1)
    for radial in (
        pattern.radial(),
        pattern.radial(31),
        pattern.radial(dq=0.37),
        pattern.radial(np.linspace(0, 7, 15)),
    ):
        assert radial.counts.sum() == len(length)
        np.testing.assert_allclose(np.nansum(radial.s * radial.counts), pattern.s.sum(), rtol=1e-12)
        assert np.isnan(radial.s[radial.counts == 0]).all()
        half = (radial.q[1] - radial.q[0]) / 2
        i = len(radial.q) // 2
        shell = (length >= radial.q[i] - half) & (length < radial.q[i] + half)
        assert radial.counts[i] == shell.sum() > 0
        assert radial.s[i] == pytest.approx(pattern.s[shell].mean())
    narrow = pattern.radial([2.0, 3.0])
    assert narrow.counts[0] == ((length >= 2) & (length <= 3)).sum()


def test_the_beam_is_left_out_of_the_radial_average(atoms):
    pattern = fl.reduce(fl.ops.StructureFactor.detector(BOX, 6.0), list(atoms.T))
    assert pattern.s.max() == pytest.approx(400)
    assert np.nanmax(pattern.radial().s) < 100


def test_detector_image_is_the_plane_pixel_by_pixel(atoms):
    pattern = fl.reduce(OPERATORS["detector"](), list(atoms.T))
    image = pattern.image()
    # axes (2, 0), every 2nd index: 8 / (4π / 11.9) = 7.6 and 5 / (4π / 7.3) = 2.9 steps
    assert image.shape == (15, 5)
    step_u, step_v = 4 * np.pi / 11.9, 4 * np.pi / 7.3
    for i in range(-7, 8):
        for j in range(-2, 3):
            q = np.array([[j * step_v, 0, i * step_u]])
            expected = abs(direct(q, atoms)[0]) ** 2 / 400
            assert image[7 + i, 2 + j] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(
        pattern.extent, (-7.5 * step_u, 7.5 * step_u, -2.5 * step_v, 2.5 * step_v)
    )


def test_general_plane_image(atoms):
    pattern = fl.reduce(OPERATORS["plane"](), list(atoms.T))
    image = pattern.image()
    assert image.shape == (19, 9)
    assert image[9, 4] == pytest.approx(400)
    q = np.array([3 * np.array([0.3, 0.1, -0.2]) - 2 * np.array([0, 1, 0.7])])
    assert image[12, 2] == pytest.approx(abs(direct(q, atoms)[0]) ** 2 / 400)
    np.testing.assert_array_equal(image, image[::-1, ::-1])


def test_result_questions_that_have_no_answer(atoms):
    sphere = fl.reduce(OPERATORS["sphere"](), list(atoms.T))
    with pytest.raises(fl.InvalidArgument, match="not a plane"):
        sphere.image()
    with pytest.raises(fl.InvalidArgument, match="not a plane"):
        _ = sphere.extent
    with pytest.raises(fl.InvalidArgument, match=r"\[99 +0 +0\]"):
        sphere.peak((99, 0, 0))
    with pytest.raises(fl.InvalidArgument, match="lattice"):
        fl.reduce(OPERATORS["list"](), list(atoms.T)).peak((1, 0, 0))
    with pytest.raises(fl.InvalidArgument, match="both"):
        sphere.radial(10, dq=0.1)
    for bad in (0, [1.0], [2.0, 1.0], [[1.0, 2.0]]):
        with pytest.raises(fl.InvalidArgument, match="radial"):
            sphere.radial(bad)
    for bad in (0, -1, np.nan):
        with pytest.raises(fl.InvalidArgument, match="dq"):
            sphere.radial(dq=bad)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fl.ops.StructureFactor((1, 0, 1), 9), r"\(1, 0, 1\).*above 0"),
        (lambda: fl.ops.StructureFactor((1, 1), 9), "three numbers"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), -9), "-9.*above 0"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 3), "at least 6.28319"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 1e5), "bytes"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 300, bytes_max=1e6), r"at most 1e\+06 bytes"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 9, stride=0), "stride"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 9, precision="half"), "'float32'"),
        (lambda: fl.ops.StructureFactor((1, 1, 1), 9, kernel="mmx"), "portable"),
        (lambda: fl.ops.StructureFactor.detector((1, 1, 1), 9, axes=(0, 3)), r"\(0, 3\)"),
        (lambda: fl.ops.StructureFactor.detector((1, 1, 1), (9, 9, 9)), "two entries"),
        (lambda: fl.ops.StructureFactor.plane((0, 0, 0), (1, 0, 0), (2, 2)), r"\(0, 0, 0\)"),
        (lambda: fl.ops.StructureFactor.at([[1, 2]]), r"\(Q, 3\)"),
        (lambda: fl.ops.StructureFactor.at(np.empty((0, 3))), "empty"),
        (lambda: fl.ops.StructureFactor.at([[1, 2, np.inf]]), "finite"),
    ],
)
def test_unusable_arguments_are_refused(make, said):
    with pytest.raises(fl.InvalidArgument, match=said):
        make()


def test_unusable_inputs_are_refused(atoms):
    op = fl.ops.StructureFactor(BOX, 6.0)
    with pytest.raises(fl.InvalidArgument, match="float64"):
        fl.reduce(op, list(atoms.astype(np.int32).T))
    with pytest.raises(fl.InvalidArgument, match="allowed: 3"):
        fl.reduce(op, list(atoms.T[:2]))


def test_docstring_examples_run():
    outcome = doctest.testmod(fluvial.compute.structure_factor, verbose=False)
    assert outcome.attempted >= 8
    assert outcome.failed == 0
