# SPDX-License-Identifier: Apache-2.0
"""The experiments of "Collective Computing for Scientific Big Data Analysis", section IV.

``experiments.py`` runs both sides (one program, ``programs/collective.cpp``), ``shuffle.py`` counts
and models what travels between ranks, ``report.py`` and ``picture.py`` show it.
"""
