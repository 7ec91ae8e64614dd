# SPDX-License-Identifier: Apache-2.0
"""The command `fluvial`: its words are imported when they are called (`fluvial.__main__`)."""
