# SPDX-License-Identifier: Apache-2.0
"""Attributes and selections of n-d data."""
