# SPDX-License-Identifier: Apache-2.0
"""M writers, N readers: any selection, whichever rank wrote its chunks, is what NumPy selects."""

import numpy as np
from harness import scenario
from two_jobs.random_steps import random_selection, random_step

STEPS = 4
PATTERNS = [(1, 1), (2, 3), (3, 2), (4, 1), (1, 4)]


def write(comm, fl, where, seed):
    with fl.open("random", "w", comm=comm, queue_steps=2) as series:
        series.attrs["seed"] = seed
        for number in range(STEPS):
            rng = np.random.default_rng([seed, number, comm.rank])
            with series.step(time=0.5 * number, attrs={"number": number}) as step:
                for dataset in random_step(seed, number, comm.size):
                    for put in (put for put in dataset.puts if put.rank == comm.rank):
                        words = {"unitSI": 0.5, "ndim": dataset.array.ndim}
                        place = {"offset": put.offset, "shape": dataset.array.shape, "attrs": words}
                        part = dataset.array[put.box]
                        if rng.random() < 0.5:
                            step.put(dataset.name, part, **place)  # strided: a box of the whole
                        else:
                            step.span(dataset.name, part.dtype, part.shape, **place)[...] = part
    return series.stats


def read(comm, fl, where, seed, writers):
    compared = 0
    with fl.open("random", comm=comm) as series:
        for step in series:
            rng = np.random.default_rng([seed, step.index, 100 + comm.rank])
            datasets = random_step(seed, step.index, writers)
            assert step.time == 0.5 * step.index
            assert step.attrs["number"] == step.index
            assert series.attrs == {"seed": seed}
            assert set(step) == {dataset.name for dataset in datasets}
            for dataset in datasets:
                got = step[dataset.name]
                assert (got.dtype, got.shape) == (dataset.array.dtype, dataset.array.shape)
                assert got.attrs == {"unitSI": 0.5, "ndim": dataset.array.ndim}
                chunks = sorted((c.rank, c.offset, c.extent) for c in got.chunks)
                assert chunks == sorted((p.rank, p.offset, p.extent) for p in dataset.puts)
                for selection in [..., *(random_selection(rng, got.shape) for _ in range(6))]:
                    part = got[selection]
                    np.testing.assert_array_equal(
                        part, dataset.array[selection], str((dataset.name, selection))
                    )
                    assert np.shape(part) == np.shape(dataset.array[selection])
                    compared += 1
        stats = series.stats
    return compared, stats["steps_read"], stats["bytes_viewed"], stats["bytes_copied"]


def _pattern(writers, readers):
    def check(jobs, seed):
        jobs.start("writer", seed=seed)
        jobs.start("reader", seed=seed, writers=writers)
        results = jobs.finish()
        assert [(compared, steps) for compared, steps, _, _ in results["reader"]] == [
            (STEPS * 13 * 7, STEPS)
        ] * readers
        assert sum(viewed for _, _, viewed, _ in results["reader"]) > 0
        assert max(stats["steps_written"] for stats in results["writer"]) == STEPS
        whole = sum(d.array.nbytes for n in range(STEPS) for d in random_step(seed, n, writers))
        assert sum(s["bytes_copied"] + s["bytes_in_place"] for s in results["writer"]) == whole

    check.__name__ = f"test_{writers}_to_{readers}"
    sentence = f"writer on {writers} ranks, reader on {readers} ranks"
    return scenario(sentence, writer=write, reader=read)(check)


for pattern in PATTERNS:
    globals()[f"test_{pattern[0]}_to_{pattern[1]}"] = _pattern(*pattern)
