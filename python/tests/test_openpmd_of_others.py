# SPDX-License-Identifier: Apache-2.0
"""openPMD both ways: files of FBPIC and openPMD's examples are read, openPMD-viewer reads ours."""

import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest

import fluvial as fl

PLASMA = """
from scipy.constants import c
from fbpic.main import Simulation
from fbpic.openpmd_diag import FieldDiagnostic, ParticleDiagnostic

plasma = dict(p_zmin=2e-6, p_zmax=12e-6, p_rmin=0, p_rmax=8e-6, p_nz=1, p_nr=1, p_nt=4, n_e=1e24)
code = Simulation(32, 16e-6, 12, 12e-6, 2, 0.5e-6 / c, use_cuda=False, verbose_level=0, **plasma)
code.diags = [
    FieldDiagnostic(2, code.fld, code.comm, fieldtypes=["E", "rho"]),
    ParticleDiagnostic(2, {"electrons": code.ptcl[0]}, code.comm),
]
code.step(5, show_progress=False)
"""


@pytest.fixture(scope="module")
def fbpic(tmp_path_factory):
    """What FBPIC writes of a small plasma: fields in azimuthal modes, electrons, three times."""
    pytest.importorskip("fbpic")
    where = tmp_path_factory.mktemp("fbpic")
    one = {"FBPIC_DISABLE_THREADING": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PLASMA],
        cwd=where,
        env=os.environ | one,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return where / "diags" / "hdf5"


def check_components(step, group):
    """Compare all records below meshes and particles with what h5py finds there."""
    names = set(step.names())
    found = 0

    def visit(path, node):
        nonlocal found
        constant = isinstance(node, h5py.Group) and "value" in node.attrs
        if not path.startswith(("meshes/", "fields/", "particles/")):
            return
        if isinstance(node, h5py.Dataset) or constant:
            shape = node.attrs["shape"] if constant else None
            stored = np.full(shape, node.attrs["value"]) if constant else node[()]
            assert path in names
            dataset = step[path]
            np.testing.assert_array_equal(dataset.read(), stored)
            unit = float(node.attrs.get("unitSI", 1.0))
            np.testing.assert_allclose(dataset.si.read(), stored * unit)
            found += 1

    group.visititems(visit)
    assert found == len(names)
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)  # numba compiles FBPIC first
def test_files_of_fbpic(fbpic):
    with fl.open(str(fbpic / "data%08T.h5")) as series:
        assert series.steps.indices == [0, 2, 4]
        assert str(series.attrs["software"]).startswith("fbpic")
        for step in series:
            with h5py.File(fbpic / f"data{step.index:08}.h5") as file:
                group = file[f"data/{step.index}"]
                assert check_components(step, group) > 8
                assert step.time == group.attrs["time"]
                modes = group["fields/E"] if "fields" in group else group["meshes/E"]
                assert step.meshes["E"].attrs["geometry"] == modes.attrs["geometry"].decode()
            er = step.meshes["E"]["r"]
            assert er.shape[0] == 3, "the constant mode, and real and imaginary part of the next"
            assert er.attrs["geometry"] == "thetaMode"
            assert set(step.particles["electrons"]["position"]) >= {"x", "y", "z"}
            charge = step.particles["electrons"]["charge"]
            assert float(charge.si.reduce("min")) == pytest.approx(-1.602e-19, rel=1e-3)


@pytest.mark.slow
@pytest.mark.timeout(300)  # numba compiles FBPIC first
def test_files_of_fbpic_go_through_a_pipe_and_open_in_openpmd_viewer(fbpic, tmp_path):
    viewer = pytest.importorskip("openpmd_viewer")
    fl.pipe(str(fbpic / "data%08T.h5"), str(tmp_path / "data%08T.h5"))
    # openPMD-api, the viewer's other backend, refuses FBPIC's constants of shape (1,).
    theirs, ours = (
        viewer.OpenPMDTimeSeries(str(where), backend="h5py") for where in (fbpic, tmp_path)
    )
    assert list(ours.iterations) == list(theirs.iterations) == [0, 2, 4]
    np.testing.assert_allclose(ours.t, theirs.t)
    for field, component in (("E", "r"), ("E", "z"), ("rho", None)):
        for theta in (0.0, 1.0):
            found, expected = (
                one.get_field(field, component, iteration=4, theta=theta) for one in (ours, theirs)
            )
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_allclose(found[1].r, expected[1].r)
            np.testing.assert_allclose(found[1].z, expected[1].z)
    wanted = ["x", "z", "ux", "w"]
    for found, expected in zip(
        ours.get_particle(wanted, species="electrons", iteration=2),
        theirs.get_particle(wanted, species="electrons", iteration=2),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_openpmd_viewer_reads_what_is_written(tmp_path, compression):
    viewer = pytest.importorskip("openpmd_viewer")
    grid = {"axisLabels": ["z", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}
    whole = np.arange(600.0).reshape(30, 20)
    with fl.open(str(tmp_path / "data%08T.h5"), "w", compression=compression) as series:
        for index in (10, 20):
            with series.step(time=index / 10, iteration=index) as step:
                length = {"unitSI": 1e-6, "unitDimension": [1] + 6 * [0]}
                for component in "xyz":
                    step.put(f"meshes/E/{component}", whole + index, attrs={"unitSI": 2.5, **grid})
                    step.put(f"particles/e/position/{component}", whole[0], attrs=length)
                step.put("meshes/rho", whole, attrs=grid)
                step.put("particles/e/weighting", np.ones(20))
    found = viewer.OpenPMDTimeSeries(str(tmp_path))
    assert list(found.iterations) == [10, 20]
    np.testing.assert_allclose(found.t, [1.0, 2.0])
    assert sorted(found.avail_fields) == ["E", "rho"]
    field, axes = found.get_field("E", "x", iteration=20)
    np.testing.assert_allclose(field, 2.5 * (whole + 20))
    np.testing.assert_allclose(axes.z, 1 + 0.5 * np.arange(30))
    np.testing.assert_allclose(axes.x, 2.0 * np.arange(20))
    (x,) = found.get_particle(["x"], species="e", iteration=10)
    np.testing.assert_allclose(x, 1e-6 * whole[0])


@pytest.mark.parametrize("program", ["openPMD_createExamples_h5"])
def test_the_examples_of_openpmd_s_validator(tmp_path, program):
    script = pathlib.Path(sys.executable).with_name(program)
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.h5")
    with fl.open(str(path)) as series, h5py.File(path) as file:
        for step in series:
            assert check_components(step, file[f"data/{step.index}"]) > 10
