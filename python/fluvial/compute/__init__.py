# SPDX-License-Identifier: Apache-2.0
"""Operators, and how several of them take one pass or more."""
