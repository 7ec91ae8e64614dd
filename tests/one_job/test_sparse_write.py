# SPDX-License-Identifier: Apache-2.0
"""Ranks with very uneven data write one file."""

import resource

import numpy as np
from harness import scenario


def parts_of(rank, ranks, seed):
    """Return {offset: array}: nothing on some ranks, little on some, much on one; with holes."""
    draw = np.random.default_rng(seed)
    found, place = {}, int(draw.integers(0, 5000))
    for _ in range(60):
        owner = int(draw.integers(0, ranks))
        most = (0, 200, 3000, 90_000)[owner % 4]
        size = int(draw.integers(0, most + 1))
        if owner == rank:
            found[place] = draw.integers(0, 256, size, np.uint8)
        else:
            draw.integers(0, 256, size, np.uint8)
        place += size + int(draw.choice([0, 0, 7, 4096]))
    return {offset: array for offset, array in found.items() if array.size}


def by_mpi(comm, path, parts):
    from mpi4py import MPI

    file = MPI.File.Open(comm, str(path), MPI.MODE_WRONLY | MPI.MODE_CREATE)
    for offset, array in parts.items():
        file.Write_at(offset, array)
    file.Close()


@scenario("job on 4 ranks", timeout=60)
class test_the_file_is_that_of_mpi_io:
    def job(comm, fl, where, seed):
        same, shares = [], []
        for trial in range(8):
            parts = parts_of(comm.rank, comm.size, seed + trial)
            ours, theirs = where / f"ours-{trial}", where / f"theirs-{trial}"
            if comm.rank == 0 and trial % 2:
                for path in (ours, theirs):  # its other bytes stay
                    path.write_bytes(b"before" * 100_000)
            comm.Barrier()
            small = {} if trial < 4 else {"writers": 3, "align": 512, "window": 4096}
            written = fl.route.sparse_write(comm, ours, parts, **small)
            by_mpi(comm, theirs, parts)
            comm.Barrier()
            same.append(ours.read_bytes() == theirs.read_bytes())
            assert comm.allreduce(written.here) == written.bytes
            assert written.bytes == comm.allreduce(sum(a.nbytes for a in parts.values()))
            shares.append((written.at_most, written.bytes, len(written.writers)))
            comm.Barrier()
        return same, shares

    def check(jobs, seed):
        jobs.start("job", seed=seed)
        for same, shares in jobs.finish()["job"]:
            assert same == [True] * 8
            assert [writers for *_, writers in shares] == [1] * 4 + [3] * 4
            for most, total, writers in shares:
                assert most <= total / writers + 1024


@scenario("job on 6 ranks", timeout=90)
class test_along_planned_paths_the_file_is_that_of_mpi_io:
    """The network is slow, so that several paths pay for what these ranks have."""

    def job(comm, fl, where, seed):
        same, writers, paths = [], [], []
        for trial in range(6):
            parts = parts_of(comm.rank, comm.size, seed + trial)
            if trial == 5:  # all on one rank
                everything = comm.gather(parts)
                parts = {}
                if comm.rank == 0:
                    parts = {key: array for one in everything for key, array in one.items()}
            ours, theirs = where / f"ours-{trial}", where / f"theirs-{trial}"
            options = {"writers": 1 + trial % 3, "align": 4096, "window": [4096, 2**20][trial % 2]}
            written = fl.route.sparse_write(
                comm, ours, parts, network="torus:2x3,bandwidth=1e8", **options
            )
            by_mpi(comm, theirs, parts)
            comm.Barrier()
            same.append(ours.read_bytes() == theirs.read_bytes())
            assert comm.allreduce(written.here) == written.bytes
            writers.append(written.writers)
            paths.append(written.paths)
            comm.Barrier()
        return same, writers, paths

    def check(jobs, seed):
        jobs.start("job", seed=seed)
        results = jobs.finish()["job"]
        for same, writers, paths in results:
            assert same == [True] * 6
            assert [len(chosen) for chosen in writers] == [1, 2, 3] * 2
            assert 0 in writers[5]  # a rank that has all writes a part of it
            assert max(paths) > 1
        assert all(result[1:] == results[0][1:] for result in results)


@scenario("job on 4 ranks", timeout=60)
class test_the_writers_are_those_that_wrote:
    def job(comm, fl, where):
        parts = {10 * comm.rank: bytes([comm.rank]) * 10}
        few = fl.route.sparse_write(comm, where / "few", parts, writers=99)
        many = fl.route.sparse_write(comm, where / "many", parts, writers=99, align=1, window=4)
        return [(written.writers, written.here) for written in (few, many)]

    def check(jobs):
        results = jobs.finish()["job"]
        assert [few for few, _ in results] == [((0,), 40)] + [((0,), 0)] * 3
        assert [many for _, many in results] == [((0, 1, 2, 3), 10)] * 4


@scenario("job on 2 ranks", timeout=60)
class test_a_network_that_does_not_fit_is_said_on_all:
    def job(comm, fl, where):
        said = []
        for network, kind in (
            ("torus:1", fl.InvalidArgument),
            ("torus:2" if comm.rank else "torus:3", fl.InvalidArgument),
            ("nowhere" if comm.rank else "torus:2", fl.NoSuchFile),
        ):
            try:
                fl.route.sparse_write(comm, where / "x", {comm.rank: b"a"}, network=network)
            except kind as error:
                said.append(str(error))
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert len(said) == 3
            assert "no host for a rank: got rank 1" in said[0]
            assert "the topology" in said[1]
            assert "rank 1 of 2" in said[2]


@scenario("job on 3 ranks", timeout=60)
class test_what_cannot_be_written_is_said_on_all:
    def job(comm, fl, where):
        messages = []

        def refused(kind, *arguments, **options):
            try:
                fl.route.sparse_write(comm, *arguments, **options)
            except kind as error:
                messages.append(str(error))

        mine = {10 * comm.rank: np.zeros(10, np.uint8)}
        refused(fl.InvalidArgument, where / "x", {10 * comm.rank: np.zeros(11, np.uint8)})
        refused(fl.InvalidArgument, where / "x", mine if comm.rank else {-1: [1]})
        refused(fl.InvalidArgument, where / str(comm.rank), mine)
        refused(fl.InvalidArgument, where / "x", mine, window=100, align=64)
        assert not (where / "x").exists()
        refused(fl.SystemError, where / "nowhere" / "x", mine)
        refused(fl.SystemError, "/dev/full", mine)
        # Far above what MPI makes in shared memory.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, resource.RLIM_INFINITY))
        refused(fl.SystemError, where / "long", {(2 << 30) + 10 * comm.rank: b"x"})
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        # First no rank has data; then data lies far beyond what four bytes count.
        nothing = fl.route.sparse_write(comm, where / "empty", {})
        assert (nothing.bytes, nothing.writers) == (0, ())
        far = {(5 << 30) + comm.rank: b"abc"[comm.rank : comm.rank + 1]}
        fl.route.sparse_write(comm, where / "far", far)
        size = (where / "far").stat().st_size
        with open(where / "far", "rb") as file:
            file.seek(5 << 30)
            return messages, size, file.read(), (where / "empty").stat().st_size

    def check(jobs):
        for messages, size, end, empty in jobs.finish()["job"]:
            overlap, negative, path, window, folder, device, long = messages
            assert "of ranks 0 and 1: got bytes 0 to 11, and from 10" in overlap
            assert "rank 0 of 3: the place of a part is out of range: got -1" in negative
            assert "the file" in path
            assert "not a multiple of its alignment: got 100 and 64 bytes" in window
            assert "No such file" in folder
            assert "no regular file: got '/dev/full'; allowed: a regular file" in device
            assert "cannot write to the shared file" in long and "File too large" in long
            assert (size, end, empty) == ((5 << 30) + 3, b"abc", 0)
