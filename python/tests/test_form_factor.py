# SPDX-License-Identifier: Apache-2.0
"""Form factors by species, and detectors in real space, beside a direct sum in NumPy."""

import pickle

import numpy as np
import pytest
from fluvial.compute.waasmaier_kirfel import SUMS

import fluvial as fl

BOX = (7.3, 5.1, 11.9)
Z = {"H": 1, "C": 6, "N": 7, "O": 8, "Na": 11, "Mg": 12, "Al": 13, "Si": 14, "Cl": 17, "Ar": 18}
Z |= {"Ti": 22, "Fe": 26, "Ni": 28, "Cu": 29, "Ag": 47, "W": 74, "Pt": 78, "Au": 79, "Pb": 82}
CAMERA = {"wavelength": 1.54, "distance": 60.0, "pixels": (9, 7), "pixel": (11.0, 13.0)}


@pytest.fixture(scope="module")
def atoms():
    rng = np.random.default_rng(20180401)
    return rng.uniform(0, BOX, (400, 3)), rng.choice(np.array([1, 2, 5], "u1"), 400)


OPERATORS = {
    "sphere": lambda **o: fl.ops.StructureFactor(BOX, 6.0, **o),
    "detector": lambda **o: fl.ops.StructureFactor.detector(BOX, (8.0, 5.0), axes=(2, 0), **o),
    "plane": lambda **o: fl.ops.StructureFactor.plane((0.3, 0.1, -0.2), (0, 1, 0.7), (9, 4), **o),
    "list": lambda **o: fl.ops.StructureFactor.at([[0, 0, 0], [1, -2, 3], [9, 20, -10]], **o),
    "camera": lambda **o: fl.ops.StructureFactor.camera(**CAMERA, **o),
}


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("angstrom", [1.0, 0.1])
def test_agrees_with_a_direct_sum(kind, atoms, angstrom):
    r, species = atoms
    own = fl.ops.FormFactor([3.0, 1.5], [20.0, 0.5], 0.25)
    op = OPERATORS[kind](form_factors={1: "Fe", 2: own, 5: -2.5}, angstrom=angstrom)
    weights = np.random.default_rng(3).uniform(0.5, 1, 400)
    pattern = fl.reduce(pickle.loads(pickle.dumps(op)), [*r.T, species], weights=weights)
    length = np.linalg.norm(pattern.q, axis=1) * angstrom  # in 1/Å
    s2 = (length / 4 / np.pi) ** 2
    a, b, c = SUMS["Fe"]
    iron = sum(x * np.exp(-y * s2) for x, y in zip(a, b, strict=True)) + c
    f = {
        1: iron,
        2: 3 * np.exp(-20 * s2) + 1.5 * np.exp(-0.5 * s2) + 0.25,
        5: np.full_like(s2, -2.5),
    }
    phases = np.exp(1j * pattern.q @ r.T)
    of_atoms = np.stack([f[int(kind)] for kind in species], axis=1)
    expected = (weights * of_atoms * phases).sum(axis=1)
    np.testing.assert_allclose(pattern.amplitude, expected, rtol=0, atol=1e-8 * 400 * 26)
    np.testing.assert_allclose(pattern.s, np.abs(expected) ** 2 / 400, rtol=1e-7, atol=1e-3)
    assert sorted(pattern.species) == [1, 2, 5]
    for number, found in pattern.species.items():
        mine = species == number
        assert found.n_atoms == mine.sum()
        alone = (weights[mine] * phases[:, mine]).sum(axis=1)
        np.testing.assert_allclose(found.amplitude, alone, rtol=0, atol=1e-9 * 400)
    np.testing.assert_allclose(fl.ops.FormFactor.of("Fe")(length), iron)


def test_the_table_counts_electrons():
    """At q = 0 every electron scatters alike; the fits are within half a percent of that."""
    assert SUMS.keys() == Z.keys()
    q = np.linspace(0, 20, 50)
    for element, electrons in Z.items():
        f = fl.ops.FormFactor.of(element)
        assert float(f(0)) == pytest.approx(electrons, rel=0.005)
        assert (np.diff(f(q)) < 1e-3).all(), f"{element} scatters less to the sides"
        assert f(75.0) < 0.15 * electrons


def test_the_table_is_that_of_others():
    cromermann = pytest.importorskip("periodictable.cromermann")
    q = np.linspace(0, 60, 40)
    for element in SUMS:
        found, expected = fl.ops.FormFactor.of(element)(q), cromermann.fxrayatq(element, q)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_camera_sees_what_its_geometry_says(atoms):
    r, _ = atoms
    turned = {"beam": (1, 0, 0), "sides": ((0, 0, 2), (0, 1, 0)), "beam_at": (1.5, 6)}
    pattern = fl.reduce(fl.ops.StructureFactor.camera(**CAMERA, **turned), list(r.T))
    image = pattern.image()
    assert image.shape == (9, 7)
    k = 2 * np.pi / 1.54
    for row, column in ((0, 0), (8, 6), (3, 2)):
        place = np.array([60.0, (column - 6) * 13.0, (row - 1.5) * 11.0])
        q = k * (place / np.linalg.norm(place) - [1, 0, 0])
        expected = abs(np.exp(1j * r @ q).sum()) ** 2 / 400
        assert image[row, column] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert pattern.species == {}
    middle = fl.reduce(fl.ops.StructureFactor.camera(**CAMERA), list(r.T)).image()[4, 3]
    assert middle == pytest.approx(400), "the beam hits the middle unless something else is said"


def test_float32_on_a_lattice(atoms):
    r, species = atoms
    exact, rounded = (
        fl.reduce(
            fl.ops.StructureFactor(
                BOX, 6.0, precision=precision, form_factors={1: "O", 2: "C", 5: "H"}
            ),
            [*r.T, species],
        )
        for precision in ("float64", "float32")
    )
    np.testing.assert_allclose(rounded.amplitude, exact.amplitude, rtol=0, atol=1e-6 * 400 * 8)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"form_factors": {1: "Xx"}}, fl.UnknownName, "no form factor of this element.*'Xx'"),
        ({"form_factors": {}}, fl.InvalidArgument, "form_factors is empty"),
        ({"form_factors": ["Fe"]}, fl.WrongType, "form_factors"),
        ({"form_factors": {1: None}}, fl.WrongType, "a form factor"),
        ({"form_factors": {1.5: "Fe"}}, fl.WrongType, "the number of a species"),
        ({"form_factors": {1: float("nan")}}, fl.InvalidArgument, "is not finite"),
        ({"form_factors": {1: "Fe"}, "angstrom": 0}, fl.InvalidArgument, "angstrom"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        fl.ops.StructureFactor(BOX, 6.0, **options)


def test_sums_that_are_none():
    with pytest.raises(fl.InvalidArgument, match="not as many b as a: got 1 a and 2 b"):
        fl.ops.FormFactor([1], [1, 2])
    with pytest.raises(fl.WrongType):
        fl.ops.FormFactor("Fe", [1])
    with pytest.raises(fl.WrongType, match="an element"):
        fl.ops.FormFactor.of(["Fe"])


def test_wrong_atoms(atoms):
    r, species = atoms
    op = fl.ops.StructureFactor(BOX, 3.0, form_factors={1: "Fe", 2: "O"})
    with pytest.raises(fl.InvalidArgument, match="has no form factor: got 5; allowed: 1, 2"):
        fl.reduce(op, [*r.T, species])
    with pytest.raises(
        fl.InvalidArgument, match="too few arrays for structure_factor: got 3; allowed: 4"
    ):
        fl.reduce(op, list(r.T))
    with pytest.raises(fl.InvalidArgument, match="species have an unsupported dtype: got float64"):
        fl.reduce(op, [*r.T, species.astype(float)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wavelength": 0}, "wavelength is out of range: got 0"),
        ({"distance": -1}, "distance of the detector is out of range"),
        ({"pixels": 0}, r"has no pixels: got \(0, 0\)"),
        ({"pixels": (2, 3, 4)}, "pixels has the wrong length"),
        ({"pixel": (1, float("inf"))}, "width of a pixel"),
        ({"beam": (0, 0, 0)}, "beam has no direction"),
        ({"sides": ((0, 1, 0), (0, 1, 1))}, "does not hit the plane"),
        ({"beam_at": (float("nan"), 0)}, "the beam hits no pixel"),
        ({"bytes_max": 100}, "too many q vectors"),
    ],
)
def test_cameras_that_are_none(change, message):
    with pytest.raises(fl.InvalidArgument, match=message):
        fl.ops.StructureFactor.camera(**{**CAMERA, **change})
