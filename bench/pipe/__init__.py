# SPDX-License-Identifier: Apache-2.0
"""Output of a simulation through a pipe, beside direct output: the paper's Figures 5 to 7.

``question.py`` is the program; ``picture.py`` draws its records.
"""
