# SPDX-License-Identifier: Apache-2.0
"""Distribution strategies on chunks of LAMMPS: the paper's Figures 8 and 9, and its shared machine.

``question.py`` is the program; ``picture.py`` draws its records.
"""
