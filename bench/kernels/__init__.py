# SPDX-License-Identifier: Apache-2.0
"""The reductions beside a loop that only reads the same memory, and the structure factor.

``question.py`` is the program; ``worker.py`` is the pinned process in which Fluvial, NumPy and the
read loop take turns on the same array; ``scattering.py`` has the structure factor's contestants.
"""
