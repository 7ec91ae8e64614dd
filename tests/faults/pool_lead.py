# SPDX-License-Identifier: Apache-2.0
"""How the programs of pools end that lose a rank: the lead writes down what it saw, to the end."""

import fluvial as fl


def tell(pool, lead, seen):
    """Have the leading rank run `lead`, which returns lines, and end the pool; others serve it.

    The file `rank-0` in the folder `seen` then has the lines, and how the pool has ended.
    """
    if not pool.leads:
        return
    lines = lead(pool)
    try:
        pool.shutdown()
        lines.append("no error")
    except fl.PeerLost as error:
        lines.append(said(error))
    draft = seen / ".rank-0"  # it appears under its name when it is whole: the others wait for it
    draft.write_text("\n".join(lines))
    draft.rename(seen / "rank-0")


def said(error):
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")
