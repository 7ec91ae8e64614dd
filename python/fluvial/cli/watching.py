# SPDX-License-Identifier: Apache-2.0
"""A series watched from outside: how it grows, and of a stream its queue and its readers."""

from __future__ import annotations

import sys
import time
from typing import TypedDict, cast

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .._core import Error, NoSuchFile
from ..opening import open as open_any
from ..stage.reader import ReadSeries
from ..store.progress_mark import Writer, progress_of
from . import tables
from .looks import Look
from .printing import Format, print_csv
from .rows import bytes_at
from .stream_status import ReaderStatus, status_of

_GOES_ON = "going on"
_UNKNOWN = "unknown"  # whether it goes on: of files of other programs


class Seen(TypedDict, total=False):
    """What one look has seen."""

    at_s: float
    state: str
    steps: int
    bytes: int
    discarded: int
    """Steps of a stream, as those below; `queue_depth` and what follows are of its queue."""
    unread: int
    spoiled: int
    spilled: int
    queue_depth: int
    queue_steps: int
    bytes_in_use: int
    full: str
    readers: list[ReaderStatus]
    steps_per_s: float | None
    bytes_per_s: float | None


def watch(look: Look, interval: float, count: int | None, format: Format) -> None:
    """Print what is seen every `interval` seconds: `count` times, or until the series ends."""
    shown = _Screen(look.name, format)
    last: Seen | None = None
    looks = 0
    try:
        with shown:
            while True:
                seen = _seen(look, last)
                shown.show(_with_rates(seen, last))
                last, looks = seen, looks + 1
                if looks == count or seen["state"] not in (_GOES_ON, _UNKNOWN):
                    return
                time.sleep(interval)
    except KeyboardInterrupt:
        return


def _seen(look: Look, last: Seen | None) -> Seen:
    if not isinstance(look.series, ReadSeries):
        return _seen_of_files(look, last)
    status = status_of(look.series)
    ended = status["writers_closed"] == status["writer_ranks"]
    state = status["failure"] or ("ended" if ended else _GOES_ON)
    return {
        "at_s": time.monotonic(),
        "state": state,
        "steps": status["steps_written"],
        "bytes": status["bytes_staged"],
        "discarded": status["steps_discarded"],
        "unread": status["steps_unread"],
        "spoiled": status["steps_spoiled"],
        "spilled": status["steps_spilled"],
        "queue_depth": status["queue_depth"],
        "queue_steps": status["queue_steps"],
        "bytes_in_use": status["bytes_in_use"],
        "full": status["full"],
        "readers": [reader for reader in status["readers"] if not reader["observes"]],
    }


def _seen_of_files(look: Look, last: Seen | None) -> Seen:
    """Return what is there now; files that are being written may not open for a moment."""
    steps, size = (0, 0) if last is None else (last["steps"], last["bytes"])
    progress = progress_of(look.name)
    try:
        with open_any(look.name) as series:
            steps = len(series.steps)
            size = sum(map(bytes_at, series.paths))
            own = series.attrs.get("software") == "Fluvial"
        went_on = last is not None and last["state"] == _GOES_ON  # the writer's mark was there
        state = "ended" if own or went_on else _UNKNOWN
    except NoSuchFile:
        raise
    except (Error, OSError) as error:
        state = f"cannot be read: {error}"
    if progress.writer is Writer.WRITES:
        state = _GOES_ON
    elif progress.writer is Writer.GONE:
        state = f"the writer is gone: {progress.said}"
    return {"at_s": time.monotonic(), "state": state, "steps": steps, "bytes": size}


def _with_rates(seen: Seen, last: Seen | None) -> Seen:
    """Return what was seen with steps and bytes a second since the last look."""
    before = seen if last is None else last
    found = seen.copy()
    passed = found.pop("at_s") - before["at_s"]
    found["steps_per_s"] = _rate(seen["steps"] - before["steps"], passed)
    found["bytes_per_s"] = _rate(seen["bytes"] - before["bytes"], passed)
    return found


def _rate(gained: int, seconds: float) -> float | None:
    return round(gained / seconds, 3) if seconds > 0 else None


class _Screen:
    """Where it is printed: a table that changes on a terminal, else line after line."""

    def __init__(self, name: str, format: Format) -> None:
        self._name = name
        self._format = format
        self._columns: list[str] = []
        self._live: Live | None = None
        if format is Format.table and sys.stdout.isatty():
            self._live = Live(console=Console(), auto_refresh=False)

    def __enter__(self) -> None:
        if self._live is not None:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, seen: Seen) -> None:
        """Show one look."""
        if self._live is not None:
            self._live.update(_table(self._name, seen), refresh=True)
        elif self._format is Format.json:
            tables.print_json({"name": self._name, **seen})
        elif self._format is Format.csv:
            self._columns = print_csv(_flat(seen), self._columns)
        else:
            print("  ".join(_words(seen)))
        sys.stdout.flush()


def _flat(seen: Seen) -> list[tables.Row]:
    """Return a row for each reader, or one where there is none."""
    of_series = cast(tables.Row, {k: value for k, value in seen.items() if k != "readers"})
    readers = cast(list[tables.Row], seen.get("readers") or [{}])
    keys = (
        "number",
        "ranks",
        "state",
        "full",
        "steps_taken",
        "lag_steps",
        "lag_on_disk",
        "steps_discarded",
    )
    return [of_series | {f"reader_{k}": reader.get(k) for k in keys} for reader in readers]


def _words(seen: Seen) -> list[str]:
    words = [f"{seen['steps']} steps", f"{seen['bytes'] / 1e6:.1f} MB"]
    steps_per_s, bytes_per_s = seen["steps_per_s"], seen["bytes_per_s"]
    if steps_per_s is not None and bytes_per_s is not None:
        words.append(f"{steps_per_s:.4g} steps/s")
        words.append(f"{bytes_per_s / 1e6:.4g} MB/s")
    if "readers" in seen:
        words.append(f"queue {seen['queue_depth']} of {seen['queue_steps']} ({seen['full']})")
        lost = {
            "discarded": seen["discarded"],
            "unread": seen["unread"],
            "spoiled": seen["spoiled"],
            "spilled": seen["spilled"],
        }
        words += [f"{count} {what}" for what, count in lost.items() if count]
        words += [
            f"reader {r['number']} ({r['ranks']} ranks, {r['state']}, {r['full']}): "
            f"{r['steps_taken']} steps, "
            f"lag {r['lag_steps']}{_spilled(r)}, {r['steps_discarded']} discarded"
            for r in seen["readers"]
        ]
    return [*words, seen["state"]]


def _spilled(reader: ReaderStatus) -> str:
    return f" ({reader['lag_on_disk']} on the disk)" if reader["lag_on_disk"] else ""


def _table(name: str, seen: Seen) -> Table:
    table = Table(title=Text(name), show_header=False)
    for word in _words(seen):
        table.add_row(Text(word))
    return table
