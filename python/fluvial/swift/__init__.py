# SPDX-License-Identifier: Apache-2.0
"""Scripts in the dataflow language of Swift/T, run by a pool of tasks."""
