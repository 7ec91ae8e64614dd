# SPDX-License-Identifier: Apache-2.0
"""Series in files of which some ranks write equal parts for all: the file is the same."""

import os
import re
import resource
import signal
import time

import numpy as np
import pytest
from harness import scenario, wait_until

CASES = {"hdf5": "run.h5", "numbered": "run%T.h5", "netcdf": "run.nc"}
SHAPE = (30_000, 9)  # above 1 MiB
ELEMENTS = 100_000


def bytes_of(path):
    """Return what a file has, but for the times at which it and its datasets were made."""
    found = path.read_bytes()
    found = re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000", b"date", found)
    # HDF5's message "modification time": type 18, of 8 bytes, version 1.
    return re.sub(rb"(\x12\0\x08\0.\0{3}\x01\0{3})....", rb"\1time", found, flags=re.DOTALL)


def boxes(rank, ranks, step):
    """Give (offset, extent) of what a rank has: much, some columns in two parts, or nothing."""
    columns = [6, 2, 1, 0, 0, 0][:ranks]
    columns[0] += SHAPE[1] - sum(columns)
    first = sum(columns[:rank])
    if columns[rank]:
        half = SHAPE[0] // 2 + step
        yield (0, first), (half, columns[rank])
        yield (half, first), (SHAPE[0] - half, columns[rank])


def write(comm, fl, path, **options):
    with fl.open(str(path), "w", comm=comm, step_timeout=30, **options) as series:
        for number in range(3):
            field = np.random.default_rng(number).normal(size=SHAPE)
            with series.step(time=0.5 * number) as step:
                for offset, extent in boxes(comm.rank, comm.size, number):
                    part = field[
                        tuple(slice(o, o + e) for o, e in zip(offset, extent, strict=True))
                    ]
                    step.put("u", part, offset=offset, shape=SHAPE)
                if comm.rank == comm.size - 1:
                    step.put("few", np.arange(5, dtype="i2"), offset=(0,), shape=(5,))
    comm.Barrier()
    return {name.name: bytes_of(name) for name in sorted(path.parent.iterdir())}


def job(comm, fl, where, case):
    own = None
    same, pieces = {}, []
    call = os.pwrite
    os.pwrite = lambda file, data, at: pieces.append(len(data)) or call(file, data, at)
    for aggregators in (0, None, 1, 2, 99):
        folder = where / str(aggregators)
        if comm.rank == 0:
            folder.mkdir()
        comm.Barrier()
        pieces.clear()
        found = write(comm, fl, folder / CASES[case], aggregators=aggregators)
        own = own or found
        same[aggregators] = found == own, sum(len(b) for b in found.values())
        small = sum(size < 100 for size in pieces)
        assert aggregators == 0 or small < 100, "each rank wrote its own small pieces"
    return same


@pytest.mark.any_mpi
@pytest.mark.parametrize("case", CASES)
@scenario("job on 4 ranks", job=job, timeout=120)
def test_the_file_is_that_of_ranks_that_write_their_own(jobs, case):
    jobs.start("job", case=case)
    for same in jobs.finish()["job"]:
        assert {aggregators for aggregators, (alike, _) in same.items() if alike} == set(same)
        assert all(size > 3 * 8 * SHAPE[0] * SHAPE[1] for _, size in same.values())


@scenario("job on 3 ranks", timeout=60)
class test_what_cannot_be_is_said_on_all:
    def job(comm, fl, where):
        said = []
        for aggregators in (-1, "two", comm.rank, {1: 2.5}.get(comm.rank)):
            try:
                write(comm, fl, where / "run.h5", aggregators=aggregators)
            except fl.InvalidArgument as error:
                said.append(str(error))
        # With a disk that is full a step is not written, and the next one may be.
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with fl.open(str(where / "run.h5"), "w", comm=comm, aggregators=2) as series:
            for number in range(2):
                if number == 0 and comm.rank == 1:  # which writes a half
                    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
                try:
                    with series.step() as step:
                        part = np.full(ELEMENTS, comm.rank)
                        step.put("x", part, (ELEMENTS * comm.rank,), (3 * ELEMENTS,))
                except fl.SystemError as error:
                    said.append(str(error))
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        with fl.open(str(where / "run.h5"), comm=comm) as series:
            read = [(step.index, step["x"].read().sum()) for step in series]
        return said, read

    def check(jobs):
        for said, read in jobs.finish()["job"]:
            negative, word, ranks, float_, full = said
            assert "aggregators is out of range: got -1" in negative
            assert "aggregators" in word
            assert "aggregators 0" in ranks
            assert "aggregators" in float_
            assert "File too large" in full
            assert read == [(1, 3 * ELEMENTS)]


@scenario("job on 2 ranks", timeout=90)
class test_after_a_step_that_was_broken_off:
    """A rank came too late to what they write together: no step can follow, on any of them."""

    def job(comm, fl, where):
        from fluvial import _core

        write = _core.DatasetWriter.write

        def write_late(*arguments):
            time.sleep(4)
            return write(*arguments)

        if comm.rank == 1:
            _core.DatasetWriter.write = write_late
        part = np.full((SHAPE[0], 1), comm.rank)
        said = []

        def put(series):
            with series.step() as step:
                step.put("u", part, offset=(0, comm.rank), shape=(SHAPE[0], 2))

        path = str(where / "run.h5")
        with (
            pytest.raises(fl.InvalidArgument, match="apart"),
            fl.open(path, "w", comm=comm, aggregators=2, step_timeout=2) as series,
        ):
            try:
                put(series)
            except fl.Error as error:
                said.append(type(error).__name__)
            (where / f"rank {comm.rank} was told").touch()
            wait_until((where / f"rank {1 - comm.rank} was told").exists, timeout=30)
            _core.DatasetWriter.write = write
            put(series)
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert said == ["TimedOut"]
