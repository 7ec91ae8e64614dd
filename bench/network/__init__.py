# SPDX-License-Identifier: Apache-2.0
"""Steps to a reader that shares no memory with the writer, beside the same bytes by a bare socket.

``question.py`` is the program; ``worker.py`` is each of the two processes that send and receive.
"""
