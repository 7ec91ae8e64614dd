# SPDX-License-Identifier: Apache-2.0
r"""How an MPI job is started with one of the MPIs that are installed.

::

    launcher = Launcher.detect()                        # the mpiexec beside this Python, or on PATH
    with launcher.start(2, [sys.executable, "w.py"], timeout=60) as writer, \
         launcher.start(3, [sys.executable, "r.py"], timeout=60) as reader:
        returncodes = writer.wait(), reader.wait()

Every job runs under a supervisor (`fluvial.launch.supervisor`), which kills each process that came
of it, whatever process group that moved to, when the job ends, when its time limit passes, when it
is told to stop, and when the process that started it dies.

More ranks than cores: with the options set here a waiting rank yields its core. Measured with 4
ranks on 2 idle cores after MPI_Init, Allreduce + Bcast of 8 bytes: MPICH 5.0 takes 8000 us a round
by its defaults and 10 us with ``MPIR_CVAR_CH4_PROGRESS_THROTTLE=1`` and its ``NO_PROGRESS_COUNT=1``
(``MPIR_CVAR_POLLS_BEFORE_YIELD`` changes nothing); Open MPI 4.1 10 us with ``mpi_yield_when_idle``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .checks import check_argv
from .job import Job, Redirected
from .rank_environment import outside_of_jobs

KINDS = ("mpich", "openmpi")

_YIELDING = {
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
}
_OPENMPI_ENVIRONMENT = {
    "MPI4PY_MPIABI": "openmpi",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@dataclass(frozen=True)
class Launcher:
    """How jobs are started with one MPI: its mpiexec and which implementation it is.

    Attributes
    ----------
    mpi
        ``"mpich"`` (and its descendants with Hydra) or ``"openmpi"``.
    mpiexec
        Path of its mpiexec.
    """

    mpi: str
    mpiexec: str

    @classmethod
    def detect(cls, mpiexec: str | None = None) -> Launcher:
        """Find the mpiexec to use and tell which MPI it belongs to.

        Looked for in this order: `mpiexec`, the environment variable ``FLUVIAL_MPIEXEC``, beside
        the running Python (where PyPI's mpich wheel puts it), ``PATH``.

        Raises
        ------
        FileNotFoundError
            When there is none.
        """
        if mpiexec:
            found = shutil.which(mpiexec)
        else:
            candidates = [os.environ.get("FLUVIAL_MPIEXEC"), _beside_python("mpiexec"), "mpiexec"]
            found = next((path for c in candidates if c and (path := shutil.which(c))), None)
        if found is None:
            raise FileNotFoundError(
                f"no mpiexec: got {mpiexec or 'none beside Python or on PATH'}; "
                "`pip install mpich` brings one"
            )
        return cls(_kind_of(found), found)

    @classmethod
    def of_kind(cls, kind: str, preferred: str = "") -> Launcher:
        """Find an mpiexec of the MPI `kind`, ``"mpich"`` or ``"openmpi"``.

        Looked for in this order: `preferred`, beside the running Python, ``PATH``.

        Raises
        ------
        FileNotFoundError
            When there is none of that kind.
        """
        names = f"mpiexec.{kind}", "mpiexec"
        looked_at: dict[str, str] = {}
        for candidate in (preferred, *map(_beside_python, names), *names):
            found = shutil.which(candidate) if candidate else None
            if found is not None and found not in looked_at:
                looked_at[found] = _kind_of(found)
                if looked_at[found] == kind:
                    return cls(kind, found)
        others = [f"{path} belongs to {other}" for path, other in looked_at.items()]
        raise FileNotFoundError(
            f"no mpiexec of {kind}: got {', '.join(others) or 'none beside Python or on PATH'}; "
            + ("`pip install mpich` brings one" if kind == "mpich" else "install Open MPI's")
        )

    def command(
        self, ranks: int, argv: Sequence[str], *more: tuple[int, Sequence[str]]
    ) -> list[str]:
        """Return the mpiexec command line that runs `argv` on `ranks` ranks of this machine.

        Each further pair of ranks and words in `more` is another program in the same job.
        """
        options = ["--oversubscribe", "--bind-to", "none"] if self.mpi == "openmpi" else []
        words = [self.mpiexec, *options, "-n", str(ranks), *argv]
        for count, program in more:
            words += [":", "-n", str(count), *program]
        return words

    def environment(
        self, extra: Mapping[str, str] | None = None, *, yielding: bool = True
    ) -> dict[str, str]:
        """Return the environment for a job: ours, `extra`, the yielding options, this package.

        Variables that mark this process as a rank of another job are left out, values that the user
        has set for the MPI's options are kept. Where ``PYTHONPATH`` of `extra` leads to a Fluvial,
        that is the job's.
        """
        env = outside_of_jobs(os.environ) | dict(extra or {})
        options = _YIELDING[self.mpi] if yielding else {}
        for name, value in (
            options | (_OPENMPI_ENVIRONMENT if self.mpi == "openmpi" else {})
        ).items():
            env.setdefault(name, value)
        libmpi = pathlib.Path(self.mpiexec).resolve().parent.parent / "lib" / "libmpi.so.12"
        if self.mpi == "mpich" and libmpi.exists():  # mpi4py must load the library that we link
            env.setdefault("MPI4PY_LIBMPI", str(libmpi))
        if self.mpi == "openmpi" and not _peers_readable():
            env.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        package = pathlib.Path(__file__).resolve().parents[1]
        installed = any(package.glob("_core*.so"))  # not from the source tree
        if installed and not _leads_to_fluvial((extra or {}).get("PYTHONPATH", "")):
            paths = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
            own = str(package.parent)
            env["PYTHONPATH"] = os.pathsep.join([own, *(path for path in paths if path != own)])
        return env

    def start(
        self,
        ranks: int,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        name: str = "job",
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdout: Redirected = None,
        stderr: Redirected = None,
    ) -> Job:
        """Start `argv` on `ranks` ranks and return at once.

        Parameters
        ----------
        ranks
            Number of processes, at least 1.
        argv
            Program and arguments; a Python script needs ``sys.executable`` in front.
        timeout
            Seconds after which everything is killed, None for no limit; the exit code is then 124
            (`supervisor.TIMED_OUT`). Each rank gets SIGABRT first, so that Python's faulthandler
            can say where it hung.
        name
            What the job is called in messages.
        env, cwd, stdout, stderr
            Additions to `environment()`; the others as for `subprocess.Popen`.

        Raises
        ------
        ValueError
            When `ranks`, `argv` or `timeout` is none.
        """
        check_argv(argv)
        return Job.start(
            self.command(ranks, argv),
            name=name,
            ranks=ranks,
            env=self.environment(env),
            timeout=timeout,
            cwd=cwd,
            stdout=stdout,
            stderr=stderr,
        )


def _beside_python(name: str) -> str:
    return os.path.join(sys.prefix, "bin", name)


def _leads_to_fluvial(search_path: str) -> bool:
    folders = [folder for folder in search_path.split(os.pathsep) if folder]
    return any(os.path.isfile(os.path.join(f, "fluvial", "__init__.py")) for f in folders)


def _kind_of(mpiexec: str) -> str:
    """Return which MPI an mpiexec belongs to, by what it says of its version."""
    version = subprocess.run(
        [mpiexec, "--version"], capture_output=True, text=True, timeout=30, check=False
    ).stdout
    openmpi = any(word in version for word in ("OpenRTE", "Open MPI", "prte", "PRRTE"))
    return "openmpi" if openmpi else "mpich"


def _peers_readable() -> bool:
    """Tell whether this kernel lets a process read a sibling's memory (cross-memory attach)."""
    libc = ctypes.CDLL(None, use_errno=True)
    byte = ctypes.create_string_buffer(1)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    nowhere = (ctypes.c_void_p * 2)(1, 1)
    libc.process_vm_readv(os.getppid(), local, 1, nowhere, 1, 0)
    return ctypes.get_errno() == errno.EFAULT
