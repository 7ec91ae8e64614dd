# SPDX-License-Identifier: Apache-2.0
"""A series between two hosts over three networks at a time, beside one of them.

``question.py`` is the program: ``./run bench rails``; ``worker.py`` is the writer or the reader.
"""
