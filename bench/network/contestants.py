# SPDX-License-Identifier: Apache-2.0
"""The names of the contestants, which take turns."""

BARE, FLUVIAL, ENCRYPTED = "TCP socket", "Fluvial", "Fluvial, encrypted"
