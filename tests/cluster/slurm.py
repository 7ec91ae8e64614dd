# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on the hosts of a cluster in a box: its last host has the controller."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, Self

from harness.box import Box, NoBox

_CONFIGURATION = """\
ClusterName=box
SlurmctldHost={control}({control_address})
SlurmUser=root
StateSaveLocation=/run/slurm/control
SlurmdSpoolDir=/run/slurm/node
TmpFS=/run/slurm/tmp
SlurmctldPidFile=/run/slurm/control.pid
SlurmdPidFile=/run/slurm/node.pid
SlurmctldLogFile={where}/slurmctld.log
SlurmdLogFile={where}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
{nodes}
PartitionName=all Nodes=ALL Default=YES
"""
# On each host: what only a booted system has, and the daemon that answers for users.
_BOOT = """set -e
mount -t tmpfs run /run
mkdir -p /run/munge /run/slurm/control /run/slurm/node /run/slurm/tmp
munged --key-file={where}/munge.key --log-file={where}/munged-$(hostname).log \\
    --seed-file=/run/munge/seed
"""
_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")


class Slurm:
    """Up in a second or so; as a context manager leaves nothing behind."""

    def __init__(self, nodes: int, where: pathlib.Path) -> None:
        missing = [name for name in _PROGRAMS if shutil.which(name) is None]
        if missing:
            raise NoBox(f"no Slurm here ({missing[0]}): sudo apt-get install slurm-wlm munge")
        self.box = Box(nodes + 1)
        self._where = where
        self._control = nodes + 1
        self._daemons: list[subprocess.Popen[bytes]] = []
        try:
            self._start(nodes)
        except BaseException:
            self.close()
            raise

    def _start(self, nodes: int) -> None:
        (self._where / "munge.key").write_bytes(b"of this box alone, and of no use elsewhere")
        (self._where / "munge.key").chmod(0o600)
        (self._where / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        lines = [
            f"NodeName={self.box.name(number)} NodeAddr={self.box.address(number)} "
            "CPUs=4 RealMemory=500"
            for number in range(1, nodes + 1)
        ]
        (self._where / "slurm.conf").write_text(
            _CONFIGURATION.format(
                control=self.box.name(self._control),
                control_address=self.box.address(self._control),
                where=self._where,
                nodes="\n".join(lines),
            )
        )
        for number in range(1, nodes + 1):
            self._daemon(number, "exec slurmd -D")

    def _daemon(self, number: int, command: str) -> None:
        words = self.box.on(number, ["sh", "-c", self._script(command)])
        with open(self._where / f"host-{number}.log", "wb") as log:
            self._daemons.append(
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )

    def _script(self, command: str) -> str:
        conf = f"export SLURM_CONF={self._where}/slurm.conf\n"
        return _BOOT.format(where=self._where) + conf + command

    def run(self, script: str, environment: dict[str, str], timeout: float) -> tuple[int, str]:
        """Run a job script on the controller's host; return its exit code and what it printed."""
        ready = (
            "slurmctld\n"
            "for i in $(seq 400); do\n"
            f'    [ "$(sinfo -h -N -t idle -o %N | wc -l)" = {len(self._daemons)} ] && break\n'
            "    sleep 0.05\n"
            "done\n"
        )
        words = self.box.on(self._control, ["bash", "-c", self._script(ready + script)])
        ended = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        return ended.returncode, ended.stdout

    def close(self) -> None:
        """End all daemons; the kernel ends what they started with their namespaces."""
        for daemon in self._daemons:
            daemon.kill()
        for daemon in self._daemons:
            daemon.wait()
        self.box.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def srun(mpi: str, words: Sequence[str], **options: object) -> str:
    """Return an srun command: `nodes=2` is --nodes=2."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    kind = {"mpich": "pmi2", "openmpi": "pmix"}[mpi]
    return " ".join(["srun", f"--mpi={kind}", *flags, *words])
