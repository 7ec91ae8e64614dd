# SPDX-License-Identifier: Apache-2.0
"""Steps that overflow onto a disk, beside writing and reading the same bytes there by hand.

``question.py`` is the program; ``worker.py`` is the process in which both take turns.
"""
