# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from bench import native
from bench.kernels import report, scattering


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("native")
    library = native.build(folder)
    assert native.build(folder) == library
    return native.Native(library)


@pytest.mark.parametrize("count", [1, 7, 63, 64, 65, 1000, 100_003])
def test_loops_read_sum_and_copy_everything(loops, count):
    array = np.arange(count, dtype=np.float64)
    assert loops.sum(array) == array.sum()
    words = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
    assert loops.read(words) == int(words.sum(dtype=np.uint64))
    target = np.zeros_like(array)
    loops.copy(target, array)
    np.testing.assert_array_equal(target, array)


def test_loops_refuse_what_they_would_misread(loops):
    with pytest.raises(ValueError, match="contiguous"):
        loops.sum(np.zeros(10)[::2])
    with pytest.raises(ValueError, match="float64"):
        loops.sum(np.zeros(10, dtype=np.float32))
    with pytest.raises(ValueError, match="bytes"):
        loops.copy(np.zeros(3), np.zeros(4))


def test_a_compiler_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        native.build(tmp_path)


def test_both_ways_of_numpy_give_the_same_structure_factor():
    atoms = scattering.Atoms.gas(200)
    hkl = scattering.half_sphere(4)
    np.testing.assert_allclose(
        scattering.factored(atoms, hkl), scattering.direct(atoms, hkl), rtol=1e-9
    )


@pytest.mark.parametrize("order", [1, 2, 5])
def test_half_sphere_has_one_of_each_pair(order):
    hkl = scattering.half_sphere(order)
    everything = {tuple(row) for row in hkl} | {tuple(-row) for row in hkl}
    side = range(-order, order + 1)
    sphere = {
        (h, k, m)
        for h in side
        for k in side
        for m in side
        if 0 < h * h + k * k + m * m <= order * order
    }
    assert everything == sphere
    assert len(hkl) * 2 == len(sphere)


def test_figures_of_the_kernels_become_records():
    figures = report.Figures()
    case = report.Case("sum", "float32", "L2", 10**6)
    for who, seconds in ((report.READ_LOOP, 1e-3), (report.FLUVIAL, 2e-3), (report.NUMPY, 8e-3)):
        figures.add(case, who, seconds)
    by = {record.peer: record for record in report.records(figures)}
    assert by["read loop"].ratio == pytest.approx(0.5)
    assert by["NumPy"].ratio == pytest.approx(4.0)
    assert by["NumPy"].median == pytest.approx(0.5)


def test_contestants_that_disagree_on_the_structure_factor_are_told_apart():
    figures = report.Figures()
    figures.add_scattering("Fluvial, float64", {"q": 10, "value": 1.0, "seconds": 1.0})
    with pytest.raises(RuntimeError, match="NumPy"):
        figures.add_scattering("NumPy, direct", {"q": 10, "value": 1.1, "seconds": 1.0})
