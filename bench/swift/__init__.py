# SPDX-License-Identifier: Apache-2.0
"""Leaf calls of scripts, by what a leaf is written in.

``question.py`` is the program; ``cases.py`` has the scripts; ``worker.py`` is each rank.
"""
