# SPDX-License-Identifier: Apache-2.0
"""Calls of channels and streams, with right arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from wrong_calls.table import Call

import fluvial as fl


def of_channels() -> list[Call]:
    """Return the calls of channels and streams in a program of one rank."""

    def channel(**arguments: Any) -> None:
        fl.Channel(**arguments).close()

    @contextlib.contextmanager
    def one() -> Iterator[fl.Channel]:
        made = fl.Channel(None, producer=True, consumer=True, timeout=10)
        try:
            yield made
        finally:
            with contextlib.suppress(fl.Error):
                made.close()

    def stream(**arguments: Any) -> None:
        with one() as made:
            made.stream(**arguments)

    def threshold(**arguments: Any) -> None:
        with one() as made:
            made.threshold(**arguments)

    def contribute(value: Any) -> None:
        with one() as made:
            made.threshold(1.0).contribute(value)

    def call(method: str, bytes_max: int | None = None) -> Callable[..., None]:
        def called(**arguments: Any) -> None:
            with one() as made:
                opened = made.stream(op=None if bytes_max else "mean", bytes_max=bytes_max)
                getattr(opened, method)(**arguments)

        return called

    def reserve_and_commit(count: Any) -> None:
        with one() as made:
            opened = made.stream(op="mean")
            opened.reserve(1)[:] = 0
            try:
                opened.commit(count)
            except Exception:
                opened.commit(0)
                raise

    element = {"name": "s", "dtype": "f8", "shape": (2,), "op": "mean", "over": None}
    element |= {"buffer_bytes": 0, "association": "nearest", "key": None, "latency": 1e-3}
    options = {"producer": True, "consumer": True, "shared_memory": True}
    options |= {"timeout": 10.0, "stall_timeout": 5.0, "trace_file": ""}
    return [
        Call("Channel", channel, {"comm": None, **options}),
        Call("Channel.stream", stream, element | {"result_on_producers": True}),
        Call("Channel.stream", stream, {"name": "s", "bytes_max": 8, "op": None}),
        Call("Channel.threshold", threshold, {"limit": 1.0, "rounds_ahead": 4}),
        Call("Channel.threshold", threshold, {"judge": lambda *_: True, "merge": max}),
        Call("Threshold.contribute", contribute, {"value": 2.0}),
        Call("Stream.send", call("send"), {"data": 1.0}),
        Call("Stream.send", call("send", 8), {"data": b"x"}),
        Call("Stream.isend", call("isend", 8), {"data": b"x"}),
        Call("Stream.reserve", call("reserve"), {"count": 1}),
        Call("Stream.commit", reserve_and_commit, {"count": 1}),
        Call("Stream.operate_some", call("operate_some"), {"bytes_max": 8}),
    ]
