# SPDX-License-Identifier: Apache-2.0
"""Ranks of one job tune the exchanges of a plan."""

import numpy as np
from harness import scenario


@scenario("job on 2 ranks", timeout=60)
class test_what_is_wrong_on_one_rank_is_said_on_all:
    def job(comm, fl, where):
        tuner = fl.route.Tuner(fl.route.plan("torus:2", [(0, 1)]))
        right = {0: np.arange(50_000.0)} if comm.rank == 0 else {}
        said = []
        for data, options in (
            ({0: np.array([object()])} if comm.rank == 0 else {}, {}),
            ([1.0] if comm.rank == 1 else right, {}),
            (right, {"paths": 2} if comm.rank == 1 else {}),
            ({}, {}),
        ):
            try:
                tuner.exchange(comm, data, **options)
            except fl.InvalidArgument as error:
                said.append(str(error))
        return said, {flow: found.size for flow, found in tuner.exchange(comm, right).items()}

    def check(jobs):
        results = jobs.finish()["job"]
        for said, _ in results:
            assert "rank 0 of 2: data has a type that cannot be used" in said[0]
            assert "rank 1 of 2: data has a type that cannot be used" in said[1]
            assert "rank 1 of 2: paths and window are what a tuner chooses" in said[2]
            assert "data of flow 0 is missing" in said[3]
        assert [found for _, found in results] == [{}, {0: 400_000}]


@scenario("job on 3 ranks", timeout=60)
class test_all_ranks_try_and_learn_the_same:
    def job(comm, fl, where):
        tuner = fl.route.Tuner(fl.route.plan("torus:3", [(0, 1)]))
        field = np.arange(12_500.0)
        choices, right = [], []
        while not tuner.known and len(choices) < 100:
            choices.append(tuner.choice(field.nbytes))
            found = tuner.exchange(comm, {0: field} if comm.rank == 0 else {})
            right += [np.array_equal(array.view("f8"), field) for array in found.values()]
        return choices, tuner.known, all(right) and len(right)

    def check(jobs):
        results = jobs.finish()["job"]
        choices, known, _ = results[0]
        assert all(result[:2] == (choices, known) for result in results)
        assert len(set(choices)) > 3
        assert list(known) == [2**17]
        assert [right for *_, right in results] == [0, len(choices), 0]
