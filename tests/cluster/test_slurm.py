# SPDX-License-Identifier: Apache-2.0
"""Writer and readers as job steps of a real Slurm, on nodes of their own and on shared ones."""

import sys

import pytest
from cluster.slurm import Slurm, srun
from fluvial.launch import Launcher
from harness.box import NoBox

WRITER = """
import numpy as np
from mpi4py import MPI
import fluvial as fl
comm = MPI.COMM_WORLD
with fl.open("field", "w", comm=comm) as series:
    for i in range(50):
        with series.step(time=i) as step:
            part = np.full(10_000, float(i))
            step.put("x", part, offset=(part.size * comm.rank,), shape=(part.size * comm.size,))
"""
READER = """
from mpi4py import MPI
import fluvial as fl
comm = MPI.COMM_WORLD
steps = 0
with fl.open("field", comm=comm) as series:
    for step in series:
        assert step["x"].reduce("mean") == step.index
        for piece in step["x"].mine("by-host(hyperslabs, fallback=hyperslabs)"):
            assert (step["x"][piece.selection] == step.index).all()
        steps += 1
print(f"read {steps} steps on {MPI.Get_processor_name()} by {series.stats['transport']}\\n", end="")
"""


@pytest.mark.any_mpi
@pytest.mark.timeout(120)
def test_two_job_steps_of_one_allocation(tmp_path):
    launcher = Launcher.detect()
    folder = tmp_path / "contact"
    folder.mkdir(mode=0o700)
    (tmp_path / "writer.py").write_text(WRITER)
    (tmp_path / "reader.py").write_text(READER)
    try:
        slurm = Slurm(3, tmp_path)
    except NoBox as error:
        pytest.skip(str(error))
    with slurm:
        first, second, third = (slurm.box.name(number) for number in (1, 2, 3))
        writer = [sys.executable, str(tmp_path / "writer.py")]
        reader = [sys.executable, str(tmp_path / "reader.py")]
        on_two = {"nodes": 2, "ntasks": 4, "ntasks_per_node": 2}
        script = f"""
            {srun(launcher.mpi, writer, nodelist=f"{first},{second}", **on_two)} &
            {srun(launcher.mpi, reader, nodelist=f"{second},{third}", **on_two)}
            ended=$?
            wait $! && exit $ended
        """
        # Nodes of a box have one memory, by which UCX would find a way around the network.
        environment = launcher.environment(
            {"FLUVIAL_DIRECTORY": str(folder), "UCX_TLS": "tcp,self"}
        )
        code, output = slurm.run(script, environment, timeout=90)
    assert code == 0, output
    said = sorted(line for line in output.splitlines() if line.startswith("read "))
    ways = [(second, "tcp, shared memory")] * 2 + [(third, "tcp")] * 2
    assert said == [f"read 50 steps on {host} by {way}" for host, way in ways]
