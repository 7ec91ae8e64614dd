# SPDX-License-Identifier: Apache-2.0
"""The leaf function of the swift bench that is Python."""


def nothing(given):
    """Return it."""
    return given
