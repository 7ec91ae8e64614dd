# SPDX-License-Identifier: Apache-2.0
"""How fast elements go from producers to consumers inside a job, beside plain MPI.

The parallel STREAM benchmark and the four experiments of "A Data Streaming Model in MPI", section
4, with the paper's own scheme and the usual MPI bandwidth tests in the same processes.
"""
