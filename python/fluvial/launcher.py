# SPDX-License-Identifier: Apache-2.0
r"""Start MPI jobs side by side on one machine, and leave no process behind.

::

    launcher = Launcher.detect()                        # the mpiexec beside this Python, or on PATH
    with launcher.start(2, [sys.executable, "w.py"], timeout=60) as writer, \
         launcher.start(3, [sys.executable, "r.py"], timeout=60) as reader:
        os.kill(reader.pid(1), signal.SIGSTOP)           # one rank of a job
        returncodes = writer.wait(), reader.wait()

Every job runs under a supervisor (`fluvial.supervisor`), which kills each process that came of it,
whatever process group that moved to, when the job ends, when its time limit passes, when it is told
to stop, and when the process that started it dies.

More ranks than cores: with the options set here a waiting rank yields its core. Measured with 4
ranks on 2 idle cores after MPI_Init, Allreduce + Bcast of 8 bytes: MPICH 5.0 takes 8000 us a round
by its defaults and 10 us with ``MPIR_CVAR_CH4_PROGRESS_THROTTLE=1`` and its ``NO_PROGRESS_COUNT=1``
(``MPIR_CVAR_POLLS_BEFORE_YIELD`` changes nothing); Open MPI 4.1 10 us with ``mpi_yield_when_idle``.

As a script it is an mpiexec with a time limit::

    python launcher.py [--mpiexec PATH] [--singly] [--timeout SECONDS] -n RANKS -- PROGRAM …

Its exit code is mpiexec's, or 124 when the time limit has passed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

_JOB_PREFIXES = ("PMI_", "PMIX_", "OMPI_COMM_", "OMPI_UNIVERSE", "HYDI_", "FLUVIAL_LAUNCH_")

_MPICH_ENVIRONMENT = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
_OPENMPI_ENVIRONMENT = {
    "MPI4PY_MPIABI": "openmpi",
    "OMPI_MCA_mpi_yield_when_idle": "1",
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
        beside = os.path.join(sys.prefix, "bin", "mpiexec")
        candidates = [mpiexec, os.environ.get("FLUVIAL_MPIEXEC"), beside, "mpiexec"]
        found = next((path for c in candidates if c and (path := shutil.which(c))), None)
        if found is None or (mpiexec and not shutil.which(mpiexec)):
            raise FileNotFoundError(
                f"no mpiexec at {mpiexec or 'FLUVIAL_MPIEXEC, ' + beside + ' or PATH'}; "
                "`pip install mpich` brings one"
            )
        version = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
        openmpi = any(word in version for word in ("OpenRTE", "Open MPI", "prte", "PRRTE"))
        return cls("openmpi" if openmpi else "mpich", found)

    def command(self, ranks: int, argv: Sequence[str]) -> list[str]:
        """Return the mpiexec command line that runs `argv` on `ranks` ranks of this machine."""
        options = ["--oversubscribe", "--bind-to", "none"] if self.mpi == "openmpi" else []
        return [self.mpiexec, *options, "-n", str(ranks), *argv]

    def supervised(
        self,
        ranks: int,
        argv: Sequence[str],
        timeout: float | None = None,
        singly: bool = False,
        watch_fd: int | None = None,
    ) -> list[str]:
        """Return the command line that runs the same under the supervisor (see `start`)."""
        supervisor = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisor.py")
        return [
            *(sys.executable, "-I", "-S", supervisor),
            *(["--timeout", str(timeout)] if timeout is not None else []),
            *(["--watch-fd", str(watch_fd)] if watch_fd is not None else []),
            *(
                ["--singly", str(ranks), "--", *argv]
                if singly
                else ["--", *self.command(ranks, argv)]
            ),
        ]

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment for a job: ours, the yielding options, this package, `extra`.

        Variables that mark this process as a rank of another job are left out, values that the user
        has set for the MPI's options are kept.
        """
        env = {k: v for k, v in os.environ.items() if not k.startswith(_JOB_PREFIXES)}
        for name, value in (
            _OPENMPI_ENVIRONMENT if self.mpi == "openmpi" else _MPICH_ENVIRONMENT
        ).items():
            env.setdefault(name, value)
        libmpi = pathlib.Path(self.mpiexec).resolve().parent.parent / "lib" / "libmpi.so.12"
        if self.mpi == "mpich" and libmpi.exists():  # mpi4py must load the library that we link
            env.setdefault("MPI4PY_LIBMPI", str(libmpi))
        if self.mpi == "openmpi" and not _peers_readable():
            env.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        package_root = str(pathlib.Path(__file__).resolve().parent.parent)
        if any(pathlib.Path(__file__).parent.glob("_core*.so")):  # not from the source tree
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, env.get("PYTHONPATH")]))
        env.update(extra or {})
        return env

    def start(
        self,
        ranks: int,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        singly: bool = False,
        name: str = "job",
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
    ) -> Job:
        """Start `argv` on `ranks` ranks and return at once.

        Parameters
        ----------
        ranks
            Number of processes, at least 1.
        argv
            Program and arguments; a Python script needs ``sys.executable`` in front.
        timeout
            Seconds after which everything is killed; the exit code is then 124
            (`supervisor.TIMED_OUT`). Each rank gets SIGABRT first, so that Python's faulthandler
            can say where it hung.
        singly
            Start `ranks` separate processes without mpiexec (none is initialised as a rank; the
            number is in ``FLUVIAL_LAUNCH_RANK``): one may be killed while the others go on.
        name
            What the job is called in messages.
        env, cwd, stdout, stderr
            Additions to `environment()`; the others as for `subprocess.Popen`.
        """
        if ranks < 1:
            raise ValueError(f"{name}: ranks is {ranks}; a job has at least 1")
        keep_alive_read, keep_alive_write = os.pipe()
        command = self.supervised(ranks, argv, timeout, singly, keep_alive_read)
        try:
            process = subprocess.Popen(
                command,
                env=self.environment(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(keep_alive_read,),
                start_new_session=True,
            )
        except BaseException:
            os.close(keep_alive_write)
            raise
        finally:
            os.close(keep_alive_read)
        return Job(name, ranks, process, keep_alive_write)


class Job:
    """A running job, as `Launcher.start` returns it; as a context manager it is killed on exit.

    Attributes
    ----------
    name, ranks
        As given to `Launcher.start`.
    process
        The supervisor, a `subprocess.Popen`; its ``stdout`` and ``stderr`` are the job's.
    """

    def __init__(self, name: str, ranks: int, process: subprocess.Popen[Any], keep_alive: int):
        self.name = name
        self.ranks = ranks
        self.process = process
        self._keep_alive: int | None = keep_alive

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while the job runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code, or None while the job runs."""
        code = self.process.poll()
        if code is not None:
            self._let_go()
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of every process of the job and return its exit code.

        Raises
        ------
        subprocess.TimeoutExpired
            After `timeout` seconds; the job goes on.
        """
        code = self.process.wait(timeout)
        self._let_go()
        return code

    def pids(self) -> dict[int, int]:
        """Return the process id of each rank that is running now, by rank."""
        from fluvial.supervisor import ranks_beneath  # not at the top: this file is a script, too

        return ranks_beneath(self.process.pid)

    def pid(self, rank: int, timeout: float = 20.0) -> int:
        """Return the process id of `rank`, waiting up to `timeout` seconds for its start.

        Raises
        ------
        ProcessLookupError
            When no such rank runs by then, or the job has ended.
        """
        deadline = time.monotonic() + timeout
        while (pid := self.pids().get(rank)) is None:
            if self.poll() is not None or time.monotonic() > deadline:
                raise ProcessLookupError(
                    f"{self.name}: no process is rank {rank} of {self.ranks} "
                    f"(exit code {self.returncode}, waited up to {timeout} s)"
                )
            time.sleep(0.01)
        return pid

    def signal(self, number: int, rank: int | None = None) -> None:
        """Send a signal to the process of one rank, or of every rank that runs now."""
        for pid in self.pids().values() if rank is None else [self.pid(rank)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def terminate(self, grace: float = 5.0) -> int:
        """End the job: SIGTERM to its ranks, SIGKILL for what is left after `grace` seconds."""
        if self.poll() is None:
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(grace)
        return self.kill()

    def kill(self) -> int:
        """End every process of the job now and return the exit code."""
        if self.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def _let_go(self) -> None:
        if self._keep_alive is not None:
            os.close(self._keep_alive)
            self._keep_alive = None

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()


def _peers_readable() -> bool:
    """Tell whether this kernel lets a process read a sibling's memory (cross-memory attach)."""
    libc = ctypes.CDLL(None, use_errno=True)
    byte = ctypes.create_string_buffer(1)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    nowhere = (ctypes.c_void_p * 2)(1, 1)
    libc.process_vm_readv(os.getppid(), local, 1, nowhere, 1, 0)
    return ctypes.get_errno() == errno.EFAULT


def main() -> None:
    """Be mpiexec: replace this process by the supervisor of the job."""
    parser = argparse.ArgumentParser(description="mpiexec with a time limit that leaves no process")
    parser.add_argument("-n", dest="ranks", type=int, required=True, help="number of ranks")
    parser.add_argument("--mpiexec", help="the MPI's mpiexec (default: as found)")
    parser.add_argument("--singly", action="store_true", help="separate processes, no mpiexec")
    parser.add_argument("--timeout", type=float, help="seconds until everything is killed")
    parser.add_argument("argv", nargs="+", help="program and arguments, after --")
    options = parser.parse_args()
    launcher = Launcher("none", "") if options.singly else Launcher.detect(options.mpiexec)
    command = launcher.supervised(options.ranks, options.argv, options.timeout, options.singly)
    os.execve(command[0], command, launcher.environment())


if __name__ == "__main__":
    main()
