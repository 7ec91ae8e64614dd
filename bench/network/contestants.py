# SPDX-License-Identifier: Apache-2.0
"""The names of those that take turns."""

BARE, FLUVIAL = "TCP socket", "Fluvial"
