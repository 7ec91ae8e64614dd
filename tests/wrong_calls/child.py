# SPDX-License-Identifier: Apache-2.0
"""Makes every public call with wrong arguments, in a process of its own: it may crash.

Each line of the log is a call that begins, so that the last one is what crashed or hung. The report
is a JSON object: how many calls there were, and which had an answer that is not fit.
"""

from __future__ import annotations

import faulthandler
import json
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wrong_calls import accessors, files, operators, pipes, pools, routes, steps, streams, table
from wrong_calls.values import WRONG, fault_of

import fluvial as fl

_CALL_S_MAX = 60.0


def write_file(path: pathlib.Path) -> None:
    """Write a file with a dataset of three dimensions and their coordinates."""
    times = np.array(["2000-01-01", "2000-02-01"], "datetime64[ns]")
    coords = {"time": times, "lat": [0.0, 10.0, 20.0], "lon": [0.0, 1.0, 2.0, 3.0]}
    values = np.arange(24.0).reshape(2, 3, 4)
    xr.Dataset({"t": (tuple(coords), values)}, coords).to_netcdf(path, engine="scipy")


def write_step(step: Any) -> None:
    """Put a dataset whose axes have names, and one along an axis of times."""
    step.put("x", np.arange(12.0).reshape(4, 3), attrs={"axisLabels": ["y", "x"]})
    days = {"units": "days since 2000-01-01", "axisLabels": ["time"]}
    step.put("time", np.array([0.0, 1.0, 40.0]), attrs=days)
    step.put("times", np.arange(3.0), attrs={"axisLabels": ["time"]})


def every_call(folder: pathlib.Path) -> Iterator[table.Call]:
    """Yield all calls, while what they need is open."""
    yield from operators.operators()
    yield from table.distribution()
    yield from routes.routes(folder)
    yield from pools.pools(folder)
    yield from table.reductions()
    write_file(folder / "t.nc")
    yield from table.opening(folder)
    with fl.open(str(folder / "t.nc")) as file:
        yield from files.of_files(file)
    with xr.open_dataset(folder / "t.nc", cache=False) as opened:
        yield from accessors.accessors(opened)
    yield from files.of_file_writers(folder)
    yield from pipes.pipes(folder)
    yield from streams.of_channels()
    yield from steps.of_series(folder)
    with (
        fl.open("live", "w", readers=0, directory=folder) as writer,
        fl.open("live", directory=folder, step_timeout=10) as reader,
    ):
        with writer.step() as step:
            write_step(step)
        yield table.Call("contact", fl.contact, {"series": writer})
        yield from steps.of_steps(reader.next())
        with writer.step() as step:
            yield from steps.of_writers(step)


class Judge:
    """Makes calls and keeps the answers that are not fit."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.calls = 0
        self.errors = 0
        self.faults: list[str] = []

    def try_call(self, label: str, function: Callable[..., Any], arguments: dict) -> None:
        """Make one call, and judge what it raises."""
        print(label, file=self._log, flush=True)
        faulthandler.dump_traceback_later(_CALL_S_MAX, exit=True)
        self.calls += 1
        try:
            function(**arguments)
        except Exception as error:
            self.errors += 1
            if fault := fault_of(error):
                self.faults.append(f"{label}: {fault}")
        finally:
            faulthandler.cancel_dump_traceback_later()

    def try_right(self, call: table.Call) -> None:
        """A table of calls that fail anyway would prove nothing."""
        print(call.name, file=self._log, flush=True)
        try:
            call.function(**call.right)
        except Exception as error:
            self.faults.append(f"{call.name} with right arguments: {error!r}")


def one_wrong(judge: Judge, call: table.Call) -> None:
    """Replace each argument by each wrong value, and swap each two."""
    for label, arguments in call.with_one_wrong(WRONG):
        judge.try_call(label, call.function, arguments)
    for label, arguments in call.with_two_swapped():
        judge.try_call(label, call.function, arguments)


def any_wrong(judge: Judge, call: table.Call) -> None:
    """Replace arguments by what Hypothesis thinks of: any number of them at once."""
    numbers = st.integers() | st.floats() | st.booleans() | st.none()
    words = st.text(max_size=8) | st.binary(max_size=8) | st.sampled_from(sorted(WRONG))
    anything = st.recursive(
        numbers | words,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=2)
        ),
        max_leaves=4,
    )
    arguments = st.fixed_dictionaries(
        {name: st.just(value) | anything for name, value in call.right.items()}
    )

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=8,
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments)
    def run(drawn: dict) -> None:
        made = {
            name: WRONG[value]() if isinstance(value, str) and value in WRONG else value
            for name, value in drawn.items()
        }
        judge.try_call(f"{call.name}({made!r})"[:300], call.function, made)

    run()


def main(kind: str, log_path: str) -> None:
    """Run the table ("table"), random arguments ("any") or none ("names"), and print the report."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    with open(log_path, "w", encoding="utf-8", errors="replace") as log:
        judge = Judge(log)
        tried: dict[str, set[str]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for call in every_call(pathlib.Path(folder)):
                tried.setdefault(call.name.split()[0], set()).update(call.right)
                if kind == "names":
                    continue
                judge.try_right(call)
                (one_wrong if kind == "table" else any_wrong)(judge, call)
    report = {"calls": judge.calls, "errors": judge.errors, "faults": judge.faults}
    report["tried"] = {name: sorted(parameters) for name, parameters in tried.items()}
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
