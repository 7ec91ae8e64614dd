# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a pool did when: numbers, a file for viewers, and a picture."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument, OutOfBounds, PeerLost
from ..base.arguments import to_int, to_weights
from ..base.messages import listed, shown
from ..base.trace_event import span_of
from ..base.whole_file import whole_file

PICTURES = (".png", ".svg", ".pdf")
EVENT = np.dtype([("begin", "f8"), ("end", "f8"), ("kind", "i4"), ("tasks", "i4")])
"""What a rank did: seconds since the first task began, number of the kind, number of tasks."""
Events: TypeAlias = npt.NDArray[np.void]
"""Those of one rank, of the dtype `EVENT`."""
Record: TypeAlias = tuple[list[str], int, float, dict[int, bytes]]
"""As the core gives it: names of the kinds, tasks, busy seconds, and the events of each rank."""
_COLOURS = ("#0b6fb8", "#c8502d", "#4a9b5b", "#e0a93b", "#7d5ba6", "#6f6f6f", "#3aa6a6", "#a65a7a")
_COUNTS_MAX = 2000
_FRAMED_MAX = 500  # events of a rank: frames of more would hide them
_APART_MAX = 100  # ranks: gaps between the rows of more would hide them, too


class Timeline:
    """What each rank of a pool did when.

    Attributes
    ----------
    kinds : list of str
        Names of the functions, or the `kind` of the tasks.
    tasks : int
        How many have ended.
    ranks : dict of int to numpy.ndarray
        Of each rank that runs tasks its events, with fields ``begin`` and ``end`` (seconds since
        the first task began), ``kind`` (a number in `kinds`) and ``tasks``: brief ones that
        followed each other closely may be one event, as long as they were together. A task of
        several ranks is an event of each.
    busy_seconds : float
        What all ranks together have spent in tasks.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        tasks: int,
        busy_seconds: float,
        ranks: dict[int, Events],
    ) -> None:
        self.kinds = list(kinds)
        self.tasks = tasks
        self.busy_seconds = busy_seconds
        self.ranks = ranks

    @classmethod
    def told(cls, found: Record | None) -> Timeline:
        """Return what the core says; None stands for a job that has broken off: PeerLost."""
        if found is None:
            raise PeerLost(
                "there is no timeline: got a job that has broken off; allowed: a pool that runs, "
                "or was shut down"
            )
        return cls.of(*found)

    @classmethod
    def of(
        cls, kinds: list[str], tasks: int, busy_seconds: float, ranks: dict[int, bytes]
    ) -> Timeline:
        """Return that of a pool, as the core gives it."""
        raw = {rank: np.frombuffer(part, np.int64).reshape(-1, 4) for rank, part in ranks.items()}
        first = min((int(part[:, 0].min()) for part in raw.values() if len(part)), default=0)
        return cls(
            kinds, tasks, busy_seconds, {rank: _events(part, first) for rank, part in raw.items()}
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Timeline:
        """Return what `save` wrote to a file whose name ends in .json.

        Raises
        ------
        InvalidArgument
            When it is something else, or has a time that is not finite or a negative duration.
        """
        try:
            lines = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["traceEvents"]
            pool = next(line["args"] for line in lines if line["name"] == "process_name")
            kinds, tasks, busy = pool["kinds"], int(pool["tasks"]), float(pool["busy_seconds"])
            numbers = {name: number for number, name in enumerate(kinds)}
            rows: dict[int, list[tuple[float, float, int, int]]] = {
                line["tid"]: [] for line in lines if line["name"] == "thread_name"
            }
            for line in lines:
                if line["ph"] == "X":
                    span = span_of(line["ts"], line["dur"])
                    event = (*span, numbers[line["name"]], line["args"]["tasks"])
                    rows[line["tid"]].append(event)
            ranks = {rank: np.array(found, EVENT) for rank, found in sorted(rows.items())}
            if tasks < 0 or not 0 <= busy < float("inf"):
                raise ValueError
        except InvalidArgument as error:
            raise InvalidArgument(f"{shown(os.fspath(path))}: {error}") from None
        except (
            *(OSError, ValueError, KeyError, TypeError),
            *(StopIteration, OverflowError, RecursionError),
        ) as error:
            raise InvalidArgument(
                f"not the timeline of a pool: got {shown(os.fspath(path))}; allowed: a .json file "
                "of Pool(trace=…) or Timeline.save()"
            ) from error
        return cls(kinds, tasks, busy, ranks)

    @property
    def seconds(self) -> float:
        """From the begin of the first task to the end of the last."""
        return max((float(events["end"].max()) for events in self._used()), default=0.0)

    @property
    def utilisation(self) -> float:
        """The part of the ranks' time that was spent in tasks, 0 to 1."""
        whole = self.seconds * len(self.ranks)
        return min(self.busy_seconds / whole, 1.0) if whole > 0 else 0.0

    @property
    def rate(self) -> float:
        """Tasks a second."""
        return self.tasks / self.seconds if self.seconds > 0 else 0.0

    @property
    def idle_tail(self) -> float:
        """The part of the ranks' time, 0 to 1, after the last task of each."""
        end = self.seconds
        last = sum(float(events["end"].max()) for events in self._used())
        return 1 - last / (end * len(self.ranks)) if end > 0 else 0.0

    @property
    def overhead(self) -> float:
        """Seconds a task that a rank was idle before its last task ended, in the mean."""
        parts = [
            (float(e["end"].max()), float((e["end"] - e["begin"]).sum()), e) for e in self._used()
        ]
        tasks = sum(int(events["tasks"].sum()) for _, _, events in parts)
        idle = sum(max(end - busy, 0.0) for end, busy, _ in parts)
        return idle / tasks if tasks else 0.0

    def busy(self, at: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return how many ranks are in a task, at each of these times (s)."""
        times = to_weights(at, "at")
        count = np.zeros(times.shape, np.int64)
        for events in self._used():
            index = np.searchsorted(events["begin"], times, "right") - 1
            count += (index >= 0) & (times < events["end"][np.maximum(index, 0)])
        return count

    def summary(self) -> dict[str, float]:
        """Return the figures: those of the same names, and the number of ranks."""
        names = ("tasks", "seconds", "rate", "utilisation", "idle_tail", "overhead")
        return {"ranks": len(self.ranks), **{name: getattr(self, name) for name in names}}

    def seconds_by_kind(self, rank: int) -> dict[str, float]:
        """Return the seconds that a rank has spent in tasks of each kind."""
        number = to_int(rank, "rank")
        if number not in self.ranks:
            raise OutOfBounds(
                f"no such rank in the timeline: got {number}; allowed: {listed(self.ranks)}"
            )
        events = self.ranks[number]
        sums = np.bincount(
            events["kind"], weights=events["end"] - events["begin"], minlength=len(self.kinds)
        )
        return {name: float(value) for name, value in zip(self.kinds, sums, strict=True)}

    def __str__(self) -> str:
        return (
            f"{self.tasks} tasks on {len(self.ranks)} ranks in {self.seconds:.3g} s: "
            f"{self.rate:.3g} a second, {self.utilisation:.1%} busy, {self.idle_tail:.1%} idle "
            f"at the end, {_duration(self.overhead)} idle for each task before"
        )

    def __repr__(self) -> str:
        return f"<fluvial.flow Timeline: {self}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it: a picture (.png, .svg, .pdf), or a trace (.json) for viewers.

        Raises
        ------
        InvalidArgument
            For a name with another ending, and for a picture where Matplotlib is missing.
        SystemError
            When it cannot be written.
        """
        name = checked_name(path)
        try:
            with whole_file(name) as partial:
                self._write(name, partial)
        except OSError as error:
            raise _core.SystemError(
                f"the file of a timeline cannot be written: got {shown(name)} "
                f"({error.strerror or error}); allowed: a path where this program may write, and "
                "there is room"
            ) from None

    def _write(self, name: str, partial: str) -> None:
        if name.endswith(".json"):
            text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in self._lines())
            pathlib.Path(partial).write_text(
                '{"displayTimeUnit": "ms", "traceEvents": [\n' + text + "\n]}\n",
                encoding="utf-8",
            )
        else:
            self._draw(partial, name.rpartition(".")[2])

    def _used(self) -> list[Events]:
        return [events for events in self.ranks.values() if len(events)]

    def _lines(self) -> Iterator[dict[str, object]]:
        """As Chrome's trace events: a thread for each rank, and a counter of those in a task."""
        totals = {"kinds": self.kinds, "tasks": self.tasks, "busy_seconds": self.busy_seconds}
        yield {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "pool", **totals}}
        for rank, events in self.ranks.items():
            place = {"pid": 0, "tid": rank}
            yield {"name": "thread_name", "ph": "M", **place, "args": {"name": f"rank {rank}"}}
            yield {"name": "thread_sort_index", "ph": "M", **place, "args": {"sort_index": rank}}
            for begin, end, kind, tasks in events.tolist():
                times = {"ts": round(1e6 * begin, 3), "dur": round(1e6 * (end - begin), 3)}
                what = {"name": self.kinds[kind], "cat": "tasks", "ph": "X"}
                yield {**what, **place, **times, "args": {"tasks": tasks}}
        when = self._times()
        counter = {"name": "ranks in a task", "ph": "C", "pid": 0}
        for time, count in zip(when.tolist(), self.busy(when).tolist(), strict=True):
            yield {**counter, "ts": round(1e6 * time, 3), "args": {"ranks": count}}

    def _times(self) -> npt.NDArray[np.float64]:
        """When ranks begin and end, or often enough."""
        edges = [events[name] for events in self._used() for name in ("begin", "end")]
        found = np.unique(np.concatenate(edges)) if edges else np.zeros(0)
        if len(found) > _COUNTS_MAX:
            found = np.linspace(0, found[-1], _COUNTS_MAX)
        return found

    def _draw(self, path: str, format: str) -> None:
        try:
            import matplotlib
        except ImportError as error:
            raise InvalidArgument(
                f"pictures need Matplotlib ({error}): pip install matplotlib"
            ) from error
        matplotlib.use("Agg")
        from matplotlib import pyplot
        from matplotlib.patches import Patch

        height = min(1.0 + 0.28 * len(self.ranks), 9.0)
        figure, (rows, below) = pyplot.subplots(
            2, 1, sharex=True, figsize=(10, height + 1.6), layout="constrained",
            height_ratios=[height, 1.4],
        )  # fmt: skip
        apart = len(self.ranks) <= _APART_MAX
        half, frame = (0.42, 0.4) if apart else (0.5, 0.1)
        for row, events in enumerate(self.ranks.values()):
            spans = np.column_stack([events["begin"], events["end"] - events["begin"]])
            colours = [_COLOURS[kind % len(_COLOURS)] for kind in events["kind"]]
            frames = frame if len(events) < _FRAMED_MAX else 0.0
            style = {"facecolors": colours, "edgecolors": "white", "linewidth": frames}
            rows.broken_barh(spans, (row - half, 2 * half), **style)
        shown_ranks = list(enumerate(self.ranks))[:: max(1, len(self.ranks) // 32)]
        rows.set_yticks(
            [row for row, _ in shown_ranks], [f"rank {rank}" for _, rank in shown_ranks]
        )
        rows.set_ylim(len(self.ranks) - 0.5, -0.5)
        patches = [
            Patch(color=_COLOURS[number % len(_COLOURS)], label=name)
            for number, name in enumerate(self.kinds[: len(_COLOURS)])
        ]
        if patches:
            rows.legend(
                handles=patches, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False
            )
        times = self._times()
        below.fill_between(times, self.busy(times), step="post", color=_COLOURS[0], alpha=0.4)
        below.set(xlabel="time (s)", ylabel="ranks\nin a task", ylim=(0, max(len(self.ranks), 1)))
        below.set_title(str(self), loc="right", size=9)
        for axis in (rows, below):
            axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=150, format=format)
        pyplot.close(figure)


def _duration(seconds: float) -> str:
    for unit, length in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def is_timeline(path: str | os.PathLike[str]) -> bool:
    """Whether a file is the trace of a pool."""
    try:
        with open(path, encoding="utf-8") as file:
            return '"args": {"name": "pool"' in file.read(300)
    except (OSError, UnicodeDecodeError):
        return False


def checked_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file that `Timeline.save` can write.

    Raises
    ------
    InvalidArgument
        When it ends otherwise, or its folder is not there.
    """
    name = os.fspath(path)
    if not name.endswith((".json", *PICTURES)):
        raise InvalidArgument(
            f"the file of a timeline: got {shown(name)}; allowed: a name that ends in .json or "
            f"{', '.join(PICTURES)}"
        )
    if not os.path.isdir(os.path.dirname(name) or "."):
        raise InvalidArgument(
            f"the file of a timeline: got {shown(name)}; allowed: a path in a directory that exists"
        )
    return name


def _events(raw: npt.NDArray[np.int64], first_ns: int) -> Events:
    """In the order of time; a rank does one thing at a time."""
    raw = raw[np.argsort(raw[:, 0], kind="stable")]
    events = np.empty(len(raw), EVENT)
    end = 1e-9 * (raw[:, 1] - first_ns)
    begin = 1e-9 * (raw[:, 0] - first_ns)
    before = np.concatenate([[0.0], np.maximum.accumulate(end)[:-1]]) if len(raw) else end
    events["begin"] = np.minimum(np.maximum(begin, before), end)
    events["end"] = end
    events["kind"], events["tasks"] = raw[:, 2], raw[:, 3]
    return events
