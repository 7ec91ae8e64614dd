# SPDX-License-Identifier: Apache-2.0
"""Traces of channels: what each rank did when, as a table or a picture."""

from __future__ import annotations

import glob
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from .._core import InvalidArgument
from ..base.messages import shown
from ..base.trace_event import span_of

COLOURS = {
    "set-up": "#9aa5b1",
    "stalled": "#d1495b",
    "idle": "#e8e8e8",
    "processing": "#2e86ab",
    "terminating": "#f0a202",
    "threshold": "#6a4c93",
}
"""Of each activity. Where nothing is drawn, the application is at work itself."""


@dataclass
class Block:
    """Something that a rank did: times in seconds since the first event of the trace."""

    activity: str
    stream: str
    begin: float
    end: float


@dataclass
class Rank:
    """A row of the picture: ``producer 3`` and its blocks, the enclosing ones first."""

    name: str
    blocks: list[Block] = field(default_factory=list)

    def seconds(self) -> dict[str, float]:
        """Return the time in each activity, without what other blocks inside took."""
        sums: dict[str, float] = defaultdict(float)
        inside: list[Block] = []
        for block in self.blocks:
            while inside and inside[-1].end <= block.begin:
                inside.pop()
            sums[block.activity] += block.end - block.begin
            if inside:
                sums[inside[-1].activity] -= block.end - block.begin
            inside.append(block)
        return dict(sums)


def read_trace(path: str | Path) -> list[Rank]:
    """Return the ranks of a trace that a channel wrote (``trace_file``), in their order.

    A channel that failed has left a file of each rank instead, which are read together.

    Raises
    ------
    InvalidArgument
        There is no such file, or it is something else, or holds no events, or one whose times are
        not finite or whose duration is negative.
    """
    whole = Path(path)
    own = sorted(whole.parent.glob(f"{glob.escape(whole.stem)}.rank-*{glob.escape(whole.suffix)}"))
    try:
        events = [
            event
            for part in ([whole] if whole.exists() or not own else own)
            for event in json.loads(part.read_text(encoding="utf-8"))["traceEvents"]
        ]
        ranks = {
            event["tid"]: Rank(event["args"]["name"])
            for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"
        }
        for event in (event for event in events if event["ph"] == "X"):
            ranks[event["tid"]].blocks.append(
                Block(event["name"], event["cat"], *span_of(event["ts"], event["dur"]))
            )
        found = [ranks[number] for number in sorted(ranks)]
    except FileNotFoundError as error:
        raise _no_trace("no such file", path) from error
    except OSError as error:
        raise _no_trace(f"cannot read the trace ({error.strerror})", path) from error
    except InvalidArgument as error:
        raise InvalidArgument(f"{shown(str(path))}: {error}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _no_trace("no JSON of a trace", path) from error
    if not found:
        raise _no_trace("no events are in the trace", path)
    return found


def _no_trace(what: str, path: str | Path) -> InvalidArgument:
    return InvalidArgument(
        f"{what}: got {shown(str(path))}; allowed: a file that Channel(trace_file=…) or "
        "Pool(trace=…) wrote"
    )


def draw_trace(ranks: list[Rank], png: str | Path, title: str = "") -> None:
    """Draw one row a rank, with coloured blocks, as in Figure 3 of the MPIStream paper."""
    try:
        import matplotlib
    except ImportError as error:
        raise InvalidArgument(
            f"pictures need Matplotlib ({error}): pip install matplotlib"
        ) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Rectangle

    figure, axes = pyplot.subplots(
        figsize=(10, 1.2 + 0.4 * max(len(ranks), 1)), layout="constrained"
    )
    for row, rank in enumerate(ranks):
        by_activity: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for block in rank.blocks:
            by_activity[block.activity].append((block.begin, block.end - block.begin))
        # In the order of COLOURS, so that what an operation does is seen inside of a stall.
        for activity in sorted(by_activity, key=_drawing_order):
            colour = COLOURS.get(activity, "#444444")
            axes.broken_barh(by_activity[activity], (row - 0.4, 0.8), facecolors=colour)
    axes.set_yticks(range(len(ranks)), [rank.name for rank in ranks])
    axes.invert_yaxis()
    axes.set_xlabel("time (s)")
    axes.set_title(title)
    seen = {block.activity for rank in ranks for block in rank.blocks}
    swatches: list[Rectangle] = [
        Rectangle((0, 0), 1, 1, color=COLOURS.get(activity, "#444444"), label=activity)
        for activity in sorted(seen, key=lambda a: list(COLOURS).index(a) if a in COLOURS else 99)
    ]
    if swatches:
        axes.legend(
            handles=swatches, ncols=len(swatches), loc="upper left", bbox_to_anchor=(0, -0.25)
        )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(png, dpi=150)
    pyplot.close(figure)


def _drawing_order(activity: str) -> int:
    order = ["terminating", "threshold", "stalled", "idle", "set-up", "processing"]
    return order.index(activity) if activity in order else len(order)
