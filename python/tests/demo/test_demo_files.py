# SPDX-License-Identifier: Apache-2.0
import h5py
import numpy as np
import pytest
from mpi4py import MPI

import fluvial as fl
from demo.crystal import Argon
from demo.openpmd_names import POSITION, VELOCITY
from demo.simulate import Snapshot
from demo.through_files import FileSink, FileSource


@pytest.fixture
def snapshots(crystal, heating):
    random = np.random.default_rng(5)
    return [
        Snapshot(step, *random.normal(size=(2, 100, 3)), offset=0, total=100, energy=-7.0)
        for step in (0, heating.every)
    ]


@pytest.fixture
def written(plan, snapshots, tmp_path):
    from dataclasses import replace

    plan = replace(plan, files=str(tmp_path))
    with FileSink(plan, MPI.COMM_SELF) as sink:
        for snapshot in snapshots:
            sink.write(snapshot)
    assert sink.figures() == {"bytes": 2 * 100 * 6 * 8}
    return plan


def test_the_files_are_openpmd(written, tmp_path):
    assert sorted(p.name for p in tmp_path.iterdir()) == ["melt_000000.h5", "melt_000010.h5"]
    with h5py.File(tmp_path / "melt_000010.h5") as file:
        root = {k: v.decode() if isinstance(v, bytes) else v for k, v in file.attrs.items()}
        assert root["openPMD"].startswith("1.")
        assert {"openPMDextension", "basePath", "particlesPath", "iterationEncoding"} <= set(root)
        step = file["data/10"]
        assert step.attrs["timeUnitSI"] == pytest.approx(Argon.TIME)
        assert step.attrs["time"] == pytest.approx(10 * written.heating.timestep)
        atoms = step["particles/atoms"]
        assert atoms["position/x"].shape == (100,)
        assert atoms["position/x"].attrs["unitSI"] == pytest.approx(Argon.LENGTH)
        assert atoms["position"].attrs["unitDimension"].tolist() == [1, 0, 0, 0, 0, 0, 0]
        assert atoms["velocity"].attrs["unitDimension"].tolist() == [1, 0, -1, 0, 0, 0, 0]
        assert atoms["positionOffset/x"].attrs["value"] == 0.0


def test_reading_gives_what_was_written(written, snapshots):
    with FileSource(written, MPI.COMM_SELF) as source:
        outputs = []
        for output in source:
            results = output.reduce(
                {"x": fl.ops.Mean(), "vz": fl.ops.Mean(), "low": fl.ops.Min()},
                {"x": POSITION[:1], "vz": VELOCITY[2:], "low": POSITION[:1]},
            )
            outputs.append((output.step, output.time, output.attrs, results))
            assert output.unit_si(VELOCITY[0]) == pytest.approx(Argon.VELOCITY)
    assert [o[0] for o in outputs] == [s.step for s in snapshots]
    for (step, time, attributes, results), snapshot in zip(outputs, snapshots, strict=True):
        assert time == pytest.approx(step * written.heating.timestep)
        assert attributes["box"] == pytest.approx(written.crystal.box)
        assert attributes["atomMass"] == pytest.approx(Argon.MASS)
        assert results["x"] == pytest.approx(snapshot.position[:, 0].mean())
        assert results["vz"] == pytest.approx(snapshot.velocity[:, 2].mean())
        assert results["low"] == snapshot.position[:, 0].min()
