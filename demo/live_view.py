# SPDX-License-Identifier: Apache-2.0
"""What the demo shows while it runs: a live panel in a terminal, elsewhere a line now and then."""

from __future__ import annotations

import math
import sys
import termios
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from rich.console import Console, ConsoleRenderable, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.crystal import REFLECTIONS, Argon, label
from demo.progress import Event
from demo.protocol import Plan
from demo.text_plot import decade_labels, log_bars, place_labels, sparkline

PLOT_ROWS, PLOT_LOW, PLOT_HIGH = 9, 0.02, 4e3
HISTORY_COLUMNS = 40


class View(Protocol):
    """Something that is told what happens."""

    def phase(self, title: str, jobs: list[str]) -> None:
        """Say that a new phase begins, with these jobs."""

    def event(self, job: str, event: Event) -> None:
        """Take in what a job said."""


def is_first_result(job: str, event: Event, seen: Container[str]) -> bool:
    """Tell whether an event is the analysis's first output, given the jobs that were heard of."""
    return job == "analysis" and event["event"] == "output" and job not in seen


class PlainView:
    """Prints a line at each phase, the first result at once, then a line a job every `interval`.

    Parameters
    ----------
    plan
        What is run.
    console
        Where to print.
    interval
        Seconds.
    """

    def __init__(self, plan: Plan, console: Console, interval: float = 2.0):
        self._plan, self._console, self._interval = plan, console, interval
        self._last: dict[str, float] = {}
        self._began = time.monotonic()

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def phase(self, title: str, jobs: list[str]) -> None:
        """Print the phase's title."""
        self._console.print(title)
        self._last = {}
        self._began = time.monotonic()

    def event(self, job: str, event: Event) -> None:
        """Print an output's figures when the last line is old enough."""
        now = time.monotonic()
        if is_first_result(job, event, self._last):
            self._console.print(
                f"  [bold]first result after {now - self._began:.1f} s[/]", highlight=False
            )
        if event["event"] == "output" and now - self._last.get(job, -1e9) >= self._interval:
            self._last[job] = now
            figures = [f"  {job:10}", f"step {event['step']:>6} of {self._plan.heating.steps}"]
            figures += [f"{event['temperature']:6.1f} K"] if "temperature" in event else []
            figures += [f"S(111) {event['peaks'][0]:9.1f}"] if "peaks" in event else []
            figures += [f"lag {event['lag']}"] if "lag" in event else []
            self._console.print("  ".join(figures), highlight=False)


@contextmanager
def _silent_ctrl_c() -> Iterator[None]:
    """Keep the terminal from printing ``^C`` into the panel, which would spoil its redrawing."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    silent = termios.tcgetattr(sys.stdin)
    silent[3] &= ~termios.ECHOCTL
    termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


class LiveView:
    """Redraws a panel with both jobs' progress, the stream's state and S(|q|) as it is now."""

    def __init__(self, plan: Plan, console: Console):
        self._plan = plan
        self._console = console
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self.phase("starting", [])

    def __enter__(self) -> LiveView:
        self._stack = ExitStack()
        self._stack.enter_context(_silent_ctrl_c())
        self._stack.enter_context(self._live)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def phase(self, title: str, jobs: list[str]) -> None:
        """Begin a new picture."""
        self._title, self._jobs = title, jobs
        self._latest: dict[str, Event] = {}
        self._ready: dict[str, bool] = dict.fromkeys(jobs, False)
        self._temperatures: list[float] = []
        self._peaks: list[float] = []
        self._began = time.monotonic()
        self._first_output = self._began
        self._first_result: float | None = None

    def event(self, job: str, event: Event) -> None:
        """Take in what a job said; it is drawn with the next refresh."""
        self._ready[job] = True
        if event["event"] != "output":
            return
        if not self._latest:
            self._first_output = time.monotonic()
        if is_first_result(job, event, self._latest):
            self._first_result = time.monotonic() - self._began
        self._latest[job] = event
        if "temperature" in event:
            self._temperatures.append(event["temperature"])
            self._peaks.append(math.log10(max(event["peaks"][0], 0.1)))

    def __rich__(self) -> RenderableType:
        """Return the panel as it is now."""
        parts: list[ConsoleRenderable] = [self._progress(), Text()]
        if "analysis" in self._latest:
            parts += [*self._spectrum(self._latest["analysis"]), Text(), self._histories(), Text()]
        parts.append(self._figures())
        return Panel(
            Group(*parts),
            title=f"[bold]fluvial[/]  {self._title}",
            subtitle=self._times(),
            border_style="blue",
            width=min(self._console.width, 100),
        )

    def _times(self) -> str:
        now = f"{time.monotonic() - self._began:.0f} s"
        if self._first_result is None:
            return now
        return f"[bold]first result after {self._first_result:.1f} s[/], {now} so far"

    def _progress(self) -> Table:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=12)
        table.add_column(ratio=1)
        table.add_column(width=31, justify="right", no_wrap=True)
        steps = self._plan.heating.steps
        for job in self._jobs:
            step = self._latest.get(job, {}).get("step", 0)
            ranks = self._plan.readers if job == "analysis" else self._plan.writers
            state = f"step {step:,} of {steps:,}" if self._ready[job] else "starting"
            table.add_row(
                Text(job, style="bold"),
                ProgressBar(total=steps, completed=step),
                f"{state}  {ranks} ranks" if ranks > 1 else f"{state}  1 rank",
            )
        return table

    def _spectrum(self, event: Event) -> list[ConsoleRenderable]:
        width = min(self._console.width, 100) - 4 - 6
        rows = log_bars(event["s"], width, PLOT_ROWS, PLOT_LOW, PLOT_HIGH)
        labels = decade_labels(PLOT_ROWS, PLOT_LOW, PLOT_HIGH)
        palette = ("#fcffa4", "#fac228", "#f57d15", "#d44842", "#9f2a63", "#65156e", "#4a0c6b")
        lines: list[ConsoleRenderable] = [
            Text.assemble(("S(|q|)", "bold"), f"   of step {event['step']}, {event['time']:.2f} ps")
        ]
        for number, (row, name) in enumerate(zip(rows, labels, strict=True)):
            color = palette[min(len(palette) - 1, number * len(palette) // PLOT_ROWS)]
            lines.append(Text.assemble((f"{name:>4} ", "dim"), (row, color)))
        last = event["q_last"]
        places = [
            (self._plan.crystal.q_norm(r) / (Argon.LENGTH * 1e10) / last, label(r))
            for r in REFLECTIONS
        ]
        lines.append(Text(" " * 5 + place_labels(places, width), style="dim"))
        return lines

    def _histories(self) -> Table:
        table = Table.grid(padding=(0, 1))
        outputs = self._plan.heating.outputs
        columns = min(HISTORY_COLUMNS, self._console.width - 40)

        def row(name: str, values: list[float], now: str, low: float, high: float) -> None:
            filled = max(1, round(columns * len(values) / outputs))
            table.add_row(
                Text(name, style="bold"),
                Text(f"{sparkline(values, filled, low, high):{columns}}", style="orange3"),
                now,
            )

        hot = self._plan.heating.hot * Argon.TEMPERATURE
        top = math.log10(self._plan.crystal.atoms)
        row("temperature", self._temperatures, f"{self._temperatures[-1]:.0f} K", 0, hot)
        row("log S(111)", self._peaks, f"S = {10 ** self._peaks[-1]:,.1f}", -1, top)
        return table

    def _figures(self) -> Text:
        writer = self._latest.get("simulation", {})
        reader = self._latest.get("analysis", {})
        seconds = max(1e-3, time.monotonic() - self._first_output)

        def figure(name: str, value: Any, shape: str, unit: str = "") -> list[Any]:
            return (
                [f"{name} ", (f"{value:{shape}}{unit}", "bold"), "   "] if value is not None else []
            )

        megabytes = writer["bytes"] / 1e6 if "bytes" in writer else None
        rate = megabytes / seconds if megabytes is not None else None
        latency = reader.get("latency")
        return Text.assemble(
            *figure("moved", megabytes, ".1f", " MB"),
            *figure("at", rate, ".1f", " MB/s"),
            *figure("queue", writer.get("queue"), "d", " steps"),
            *figure("reader's lag", reader.get("lag"), "d", " steps"),
            *figure("latency", 1e3 * latency if latency is not None else None, ".0f", " ms"),
        )
