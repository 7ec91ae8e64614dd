# SPDX-License-Identifier: Apache-2.0
"""A flow by several paths beside MPI's own message, between hosts joined by cables of one speed.

``question.py`` is the program; ``networks.py`` has the networks; ``worker.py`` is each rank.
"""
