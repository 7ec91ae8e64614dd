# SPDX-License-Identifier: Apache-2.0
"""The reductions beside a loop that only reads the same memory, and beside NumPy."""
