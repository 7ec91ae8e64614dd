# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of Fluvial: one program per question, each beside its peers in the same run.

``python -m bench`` lists them; ``python -m bench NAME`` runs one, prints a table, draws a PNG and
appends one JSON object a line.  A bench is a folder here with a line in ``catalogue.py``.
"""
