# SPDX-License-Identifier: Apache-2.0
"""The variables by which MPI launchers tell a process which rank of which job it is."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES = (
    "PMI_",
    "PMIX_",
    "MPI_LOCAL",
    "HYDI_",
    "FLUVIAL_LAUNCH_",
    # Of Open MPI's, mpirun sets these; all others are the user's options.
    "OMPI_APP_CTX_",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_COMM_",
    "OMPI_FILE_LOCATION",
    "OMPI_FIRST_RANKS",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE",
    "OMPI_MCA_ess",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_orte_",
    "OMPI_MCA_pmix",
    "OMPI_MCA_shmem_RUNTIME",
    "PRTE_LAUNCHED",
)


def outside_of_jobs(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without them: MPI programs started in it begin jobs of their own."""
    return {name: value for name, value in environment.items() if not name.startswith(_PREFIXES)}
