# SPDX-License-Identifier: Apache-2.0
"""What a stream between many hosts costs in connections, messages and bytes, counted.

``question.py`` is the program; ``model.py`` counts.
"""
