# SPDX-License-Identifier: Apache-2.0
"""What an editor knows in a user's program; `./run lint` has mypy check it, and nothing runs it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import assert_type

import numpy as np
import xarray as xr
from mpi4py import MPI

import fluvial as fl


def files(path: pathlib.Path, comm: MPI.Comm) -> None:
    with fl.open([path], comm=comm) as file:
        assert_type(file, fl.File)
        temperature = file["t"].sel(x=slice(0, 2)).isel({"y": 0}).where("value > 0")
        assert_type(temperature, fl.FileDataset)
        assert_type(temperature.mean("x"), xr.DataArray)
        assert_type(temperature.groupby("time.month").max(), xr.DataArray)
        assert_type(temperature.where((file["u"] > 0) & (file["v"] != 1)), fl.FileDataset)
        assert_type(temperature.where(~((temperature > 2) | (temperature < 1))), fl.FileDataset)
        assert_type(temperature.quantile([0.1, 0.9], dim="x"), xr.DataArray)
        assert_type(-(2 * temperature + 1), fl.FileDataset)
        assert_type(temperature + np.ones(3), np.ndarray)
        assert_type(temperature == "text", bool)
        assert_type(temperature.layout.get("chunk"), tuple[int, ...] | None)
        for step in file:
            assert_type(step, fl.FileStep)
            assert_type(step.read(["t"]), dict[str, xr.DataArray])
    with fl.open(path, "w", comm, compression="gzip", aggregators=4) as written:
        assert_type(written, fl.FileWriteSeries)


def streams(comm: MPI.Comm) -> None:
    with fl.open("melt", engine="stage", comm=comm) as series:
        assert_type(series, fl.ReadSeries)
        for step in series:
            dataset = step["t"]
            assert_type(dataset, fl.Dataset)
            selected = dataset.sel(x=slice(0, 2)).where("value > 0")
            assert_type(selected.read(), xr.DataArray)
            assert_type(selected.mean("x"), xr.DataArray)
            assert_type((selected - 273.15).shape, tuple[int, ...])
            assert_type(dataset.start("mean").progress, float)
            assert_type(step.particles["e"].path, str)
    with fl.open("melt", "w", comm) as written:
        assert_type(written, fl.WriteSeries)


def tasks() -> None:
    with fl.Pool() as pool:
        assert_type(pool.submit(len, "text").result(), int)
        together: Future[list[int]] = pool.together(fl.task(len, "text"), fl.task(abs, -3))
        assert_type(together.result(), list[int])
    assert_type(fl.command(["hostname"]).stdout, str)
    assert_type(fl.command(["hostname"], text=False).stdout, bytes)


def thresholds(channel: fl.Channel, judge: Callable[[set[int], int, int], bool]) -> None:
    def merge(a: set[int], b: set[int]) -> set[int]:
        return a | b

    channel.threshold(judge=judge, merge=merge)
    channel.threshold(judge=judge, merge=str.__add__)  # type: ignore[misc]
