# SPDX-License-Identifier: Apache-2.0
"""Streams inside one MPI job."""
