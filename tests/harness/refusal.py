# SPDX-License-Identifier: Apache-2.0
"""A call that must be refused on this rank."""


def refused(fl, call, *words):
    """Whatever differs between ranks is an InvalidArgument on this one that has these words."""
    try:
        found = call()
    except fl.InvalidArgument as error:
        assert all(word in str(error) for word in words), (words, str(error))
        return
    raise AssertionError(f"not refused: {words}, but {found!r}")
