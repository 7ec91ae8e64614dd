# SPDX-License-Identifier: Apache-2.0
"""Ranks that do nothing but pass on what others exchange."""

import json
import time
import warnings

import numpy as np
from harness import scenario


@scenario("job on 5 ranks", timeout=90)
class test_helpers_pass_data_on_while_another_rank_computes:
    """Ranks 0 and 1 exchange, 2 and 3 help, and 4 computes until the others are done."""

    def job(comm, fl, where):
        ended = where / "ended"
        if comm.rank == 4:
            comm.Split(color=1)
            steps = 0
            while not ended.exists():
                steps += 1
            return steps
        group = comm.Split(color=0)
        helpers = fl.route.HelperRanks(group, helps=group.rank > 1)
        if helpers.helping:
            return helpers.ranks, helpers.serve()
        plan = fl.route.plan("torus:4,bandwidth=1e8", [(0, 1), (1, 0)], "disjoint")
        right, by_helpers = [], 0
        for step in range(4):
            time.sleep(0.5 if step == 2 else 0)  # then nobody needs the helpers
            sent = np.random.default_rng([step, group.rank]).random(100_000)
            arrived = helpers.exchange(
                plan, {group.rank: sent}, paths=2, window=16384, checksum=True
            )
            theirs = np.random.default_rng([step, 1 - group.rank]).random(100_000)
            right.append(bool((arrived[1 - group.rank].view("f8") == theirs).all()))
            by_helpers += sum(use.bytes for use in arrived.paths[group.rank] if len(use.ranks) > 2)
        helpers.release()
        ended.touch()
        return right, by_helpers > 0

    def check(jobs):
        *others, steps = jobs.finish()["job"]
        assert others[:2] == [([True] * 4, True)] * 2
        assert others[2:] == [((2, 3), 4)] * 2
        assert steps > 0


@scenario("job on 4 ranks", timeout=60)
class test_helpers_hear_nothing_of_what_is_wrong_on_others:
    """The third exchange is right, but goes direct: all ranks run on one machine, not on three."""

    def job(comm, fl, where):
        path = where / "net.json"
        if comm.rank == 0:
            links = [{"from": x, "to": y} for x, y in ("ab", "bc", "ac")]
            said = {"hosts": list("abc"), "links": links, "ranks": list("abbc")}
            path.write_text(json.dumps(said))
        comm.Barrier()
        helpers = fl.route.HelperRanks(comm, helps=comm.rank == 2)
        if helpers.helping:
            return helpers.serve()
        net = fl.route.topology(path)
        plan = fl.route.plan(net, [("a", "c")])
        said = []
        for wrong in ({5: [1.0]}, {}):
            try:
                helpers.exchange(plan, wrong)
            except fl.InvalidArgument as error:
                said.append(str(error))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = {0: np.arange(50_000.0)} if comm.rank == 0 else {}
            found = helpers.exchange(plan, data)
        helpers.release()
        return said, len(caught), [array.view("f8").sum() for array in found.values()]

    def check(jobs):
        results = jobs.finish()["job"]
        assert results[2] == 1
        for rank in (0, 1, 3):
            said, warned, sums = results[rank]
            assert "a flow in data is out of range" in said[0]
            assert "data of flow 0 is missing" in said[1]
            assert warned == (rank == 0)
            assert sums == ([49_999 * 25_000.0] if rank == 3 else [])


@scenario("job on 2 ranks", timeout=60)
class test_calls_that_are_not_this_ranks:
    def job(comm, fl, where):
        said = []

        def refused(call, *arguments):
            try:
                call(*arguments)
            except fl.InvalidArgument as error:
                said.append(str(error))

        refused(fl.route.HelperRanks, comm, True)
        refused(fl.route.HelperRanks, comm, None if comm.rank else False)
        helpers = fl.route.HelperRanks(comm, comm.rank == 1)
        plan = fl.route.plan("torus:2", [(0, 0)])
        if comm.rank == 1:
            refused(helpers.exchange, plan, {})
            refused(helpers.release)
            helpers.serve()
            refused(helpers.serve)
        else:
            refused(helpers.serve)
            helpers.release()
            helpers.release()
            refused(helpers.exchange, plan, {0: [1.0]})
        return said

    def check(jobs):
        others, helper = jobs.finish()["job"]
        for said in (others, helper):
            assert "none to exchange data: got 2 helpers" in said[0]
            assert "rank 1 of 2: helps" in said[1]
        assert "not this rank's: serve" in others[2]
        assert "they were released" in others[3]
        assert "not this rank's: exchange" in helper[2]
        assert "not this rank's: release" in helper[3]
        assert "they were released" in helper[4]


@scenario("job on 3 ranks", timeout=60)
class test_a_rank_that_leaves_by_an_exception_tells_the_rest:
    """First one that exchanges, then the helper, then nobody."""

    def job(comm, fl, where):
        plan = fl.route.plan("torus:3", [(0, 1)])
        data = {0: np.arange(50_000.0)} if comm.rank == 0 else {}
        said = []
        for leaves in (0, 2, None):
            try:
                with fl.route.HelperRanks(comm, helps=comm.rank == 2) as helpers:
                    if comm.rank == leaves:
                        raise ZeroDivisionError
                    if helpers.helping:
                        said.append(helpers.serve())
                    else:
                        helpers.exchange(plan, data, paths=2, window=4096)
                        said.append("right")
            except (ZeroDivisionError, fl.TimedOut) as error:
                said.append(type(error).__name__)
        return said

    def check(jobs):
        assert jobs.finish()["job"] == [
            ["ZeroDivisionError", "TimedOut", "right"],
            ["TimedOut", "TimedOut", "right"],
            ["TimedOut", "ZeroDivisionError", 1],
        ]
