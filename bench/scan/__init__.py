# SPDX-License-Identifier: Apache-2.0
"""Reductions of one large variable in a file: Fluvial's scan beside all that read and compute.

``cases.py`` says what is asked, ``files.py`` makes the files; ``programs/`` are contestants in C++,
``with_*.py`` those in Python and on the command line; ``contestants.py`` knows how each is started,
``contest_of_files.py`` lets them take turns, ``report.py`` and ``picture.py`` show what came out.
"""
