# SPDX-License-Identifier: Apache-2.0
"""What a rank of a reader gets of a live step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import _core
from ..base.arguments import to_names
from ..distribute.assignment import Strategy, part_of, to_strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece


def share_of(
    reader: _core.Reader,
    step: _core.ReadStep,
    strategy: Strategy,
    names: Iterable[str] | None,
    own: Mapping[str, Own] | None,
) -> dict[str, list[Piece]]:
    """Return this rank's parts of each dataset; see `ReadStep.mine`."""

    def prepare() -> tuple[list[str], object]:
        """Return what the core needs; what this raises is raised on all ranks."""
        return to_names(names, step.names()), to_strategy(strategy, own)

    shares = {}
    for name, parts in reader.share(step, prepare).items():
        chunks = [
            Piece(offset, extent, rank, reader.host_of(rank))
            for offset, extent, rank in step.dataset(name).chunks
        ]
        shares[name] = [part_of(chunks, *part) for part in parts]
    return shares
