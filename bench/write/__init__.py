# SPDX-License-Identifier: Apache-2.0
"""Ranks that write one file together, plain and compressed.

``question.py`` is the program; ``programs/writing.cpp`` is the job in which all ways take turns.
"""
