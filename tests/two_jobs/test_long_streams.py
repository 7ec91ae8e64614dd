# SPDX-License-Identifier: Apache-2.0
"""Two writing jobs and two reading jobs for a while: random sizes and pauses, all policies.

A few seconds in `./run test`; `./run soak --streams` takes ten minutes (FLUVIAL_SOAK_SECONDS).
"""

import os
import resource
import time

import numpy as np
from harness import scenario

SECONDS = float(os.environ.get("FLUVIAL_SOAK_SECONDS", "4"))
STEP_MAX = 60_000  # numbers of a rank in a step
GROWTH_MAX = 48 << 20  # of what a process holds, between the first third and the end
STREAMS = ("one", "other")
LOSSLESS = {"block", "spill"}
POLICIES = ("block", "spill", "discard-newest", "discard-oldest", "spill,discard-newest")


def memory():
    """Return the bytes that this process holds, its own and shared ones."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Growth:
    """What a process holds more at its end than when a third of the time had passed."""

    def __init__(self):
        self._end = time.monotonic() + SECONDS
        self._third = time.monotonic() + SECONDS / 3
        self._then = None

    @property
    def over(self):
        now = time.monotonic()
        if self._then is None and now > self._third:
            self._then = memory()
        return now > self._end

    def bytes(self):
        return 0 if self._then is None else memory() - self._then


def sizes_of(seed, index, ranks):
    """Return how many numbers each rank puts into a step: often few, sometimes many or none."""
    rng = np.random.default_rng([seed, index])
    return (STEP_MAX * rng.random(ranks) ** 4 * (rng.random(ranks) > 0.1)).astype(int)


def write(comm, fl, where, number, seed, full):
    """Write a stream under its policy until the time is over; the first rank says when it is."""
    rng = np.random.default_rng([seed, number, 7])
    options = {"spill": where, "spill_bytes": "64 MiB"} if full.startswith("spill") else {}
    growth, accepted, end = Growth(), 0, False
    with fl.open(
        STREAMS[number], "w", comm=comm, full=full, queue_steps=3, readers=2, **options
    ) as series:
        index = 0
        while not end:
            sizes = sizes_of(seed, index, comm.size)
            offset = int(sizes[: comm.rank].sum())
            with series.step(attrs={"index": index}) as step:
                step.put(
                    "x",
                    np.full(sizes[comm.rank], index, "f8"),
                    offset=(offset,),
                    shape=(int(sizes.sum()),),
                )
            accepted += step.accepted
            index += 1
            time.sleep(rng.exponential(0.001))
            end = comm.bcast(growth.over) if index % 8 == 0 else False
        grown = growth.bytes()
        stats = series.stats
    return {"steps": index, "accepted": accepted, "grown": grown, **stats}


def read(comm, fl, where, seed):
    """Read both streams in turns, with pauses; check every element and the order of steps."""
    rng = np.random.default_rng([seed, comm.rank, 9])
    growth, seen = Growth(), {name: [] for name in STREAMS}
    series = {name: fl.open(name, comm=comm) for name in STREAMS}
    going = list(STREAMS)
    while going:
        for name in list(going):
            step = series[name].next()
            if step is None:
                going.remove(name)
                continue
            index = step.attrs["index"]
            found = step["x"].read()
            assert (found == index).all()
            seen[name].append((index, len(found)))
            assert growth.over is not None
            time.sleep(rng.exponential(0.002))
    grown = growth.bytes()
    discarded = {name: of_one.stats["steps_discarded"] for name, of_one in series.items()}
    for of_one in series.values():
        of_one.close()
    return {"seen": seen, "discarded": discarded, "grown": grown}


@scenario(
    "one writer on 2 ranks, other writer on 1 rank, one reader on 2 ranks, other reader on 1 rank",
    timeout=60 + 2 * SECONDS,
    writer=write,
    reader=read,
)
def test_streams_go_on_and_on(jobs, seed):
    rng = np.random.default_rng(seed)
    policies = [str(policy) for policy in rng.choice(POLICIES, 2, replace=False)]
    for number, name in enumerate(("one_writer", "other_writer")):
        jobs.start(name, number=number, seed=seed, full=policies[number])
    jobs.start("one_reader", seed=seed)
    jobs.start("other_reader", seed=seed)
    results = jobs.finish()
    for name, policy, writer in zip(STREAMS, policies, ("one_writer", "other_writer"), strict=True):
        written = results[writer]
        for reader in results["one_reader"] + results["other_reader"]:
            check(reader["seen"][name], written[0], len(written), policy, seed)
            lost = written[0]["steps"] - len(reader["seen"][name])
            assert lost == reader["discarded"][name], (name, policy)
    for results_of_job in results.values():
        for result in results_of_job:
            assert result["grown"] < GROWTH_MAX, policies


def check(seen, written, ranks, policy, seed):
    """The steps of a reader are in order and whole, and all that its policy promises."""
    indices = [index for index, _ in seen]
    assert indices == sorted(set(indices))
    for index, elements in seen:
        assert elements == sizes_of(seed, index, ranks).sum(), (policy, index)
    assert written["steps"] > 10
    if policy in LOSSLESS:
        assert indices == list(range(written["steps"]))
    if policy == "discard-newest":  # with a disk, one rank may find it full that another did not
        assert len(indices) == written["accepted"]


JOINS = 100


def write_until_told(comm, fl, where):
    """Write small steps as fast as it goes until a file says that all have come and gone."""
    with fl.open("one", "w", comm=comm, queue_steps=4, readers=1) as series:
        index, end = 0, False
        while not end:
            with series.step() as step:
                mine = np.full(500, index)
                step.put("x", mine, offset=(500 * comm.rank,), shape=(500 * comm.size,))
            index += 1
            end = comm.bcast((where / "gone").exists()) if index % 16 == 0 else False
        return index, series.stats


def read_all(comm, fl, where):
    with fl.open("one", comm=comm) as series:
        for count, step in enumerate(series):
            assert step.index == count
            assert (step["x"].read() == count).all()
        return count + 1


def come_and_go(comm, fl, where):
    """Join and leave again and again: after no step or some, in the middle of one."""
    rng = np.random.default_rng(5)
    for _ in range(JOINS):
        series = fl.open("one", comm=comm, start=str(rng.choice(["oldest", "next", "observe"])))
        last = -1
        for _ in range(int(rng.integers(0, 4))):
            step = series.next()
            assert step.index > last
            last = step.index
            if rng.random() < 0.7:
                assert (step["x"].read() == last).all()
        series.close()
    (where / "gone").touch()


@scenario(
    "writer on 2 ranks, reader on 2 ranks, guest on 1 rank",
    timeout=90,
    writer=write_until_told,
    reader=read_all,
    guest=come_and_go,
)
def test_a_hundred_readers_join_and_leave_a_busy_stream(jobs):
    results = jobs.finish()
    steps, stats = results["writer"][0]
    assert results["reader"] == [steps] * 2
    assert stats["readers_lost"] == 0
    assert stats["steps_discarded"] == 0
    assert stats["readers_joined"] > JOINS / 3  # readers that only look on do not join
