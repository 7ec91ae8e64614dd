# SPDX-License-Identifier: Apache-2.0
"""Ranks of one job move data along the paths of a plan."""

import json
import socket
import time
import warnings

import numpy as np
from harness import scenario


def numbers(flow, size):
    return np.arange(size, dtype="f8") * (flow + 1)


@scenario("job on 8 ranks", timeout=90)
class test_crossing_flows_arrive_whole:
    """Every rank is a source, a destination and a proxy; sizes differ, one flow has nothing."""

    def job(comm, fl, where):
        flows = [(i, (i + 3) % 8) for i in range(8)] + [(5, 5), (2, 6)]
        plan = fl.route.plan("torus:2x4", flows, "min-max")
        sizes = [0, 10, 1000, 40_000, 150_000, 3, 77_777, 100, 50, 123_456]
        wrong = []
        for options in ({}, {"paths": 3, "window": 1000}, {"paths": 2, "costs": "pami"}):
            data = {i: numbers(i, sizes[i]) for i, (a, _) in enumerate(flows) if a == comm.rank}
            arrived = fl.route.exchange(comm, plan, data, **options)
            expected = {i for i, (_, b) in enumerate(flows) if b == comm.rank}
            wrong += [] if arrived.keys() == expected else [sorted(arrived)]
            wrong += [
                i
                for i, found in arrived.items()
                if not np.array_equal(found.view("f8"), numbers(i, sizes[i]))
            ]
        proxies = {host for paths in plan.paths for path in paths for host in path.proxies}
        return wrong, len(proxies)

    def check(jobs):
        assert jobs.finish()["job"] == [([], 8)] * 8


@scenario("job on 4 ranks", timeout=60)
class test_what_each_path_carried_is_told_at_both_ends:
    def job(comm, fl, where):
        plan = fl.route.plan("torus:2x2", [(0, 3)])
        data = {0: numbers(0, 50_000)} if comm.rank == 0 else None
        moved = fl.route.exchange(comm, plan, data, paths=2, window=1000, checksum=True)
        size = {flow: sum(path.bytes for path in paths) for flow, paths in moved.paths.items()}
        return list(moved), size, moved.explain()

    def check(jobs):
        results = jobs.finish()["job"]
        assert [came for came, _, _ in results] == [[], [], [], [0]]
        assert [size for _, size, _ in results] == [{0: 400_000}, {}, {}, {0: 400_000}]
        for _, _, said in (results[0], results[3]):
            assert len(said.splitlines()) == 2
            assert "windows" in said
            assert "given up" not in said


@scenario("job on 3 ranks", timeout=120)
class test_a_proxy_that_computes_passes_data_on:
    """It computes for two seconds, and on until the others have all of the data."""

    def job(comm, fl, where):
        plan = fl.route.plan("torus:3", [(0, 1)])
        data = {0: numbers(0, 400_000)} if comm.rank == 0 else None
        moving = fl.route.begin(comm, plan, data, paths=2, window=16384)
        if comm.rank < 2:
            moved = moving.wait()
            (where / f"done-{comm.rank}").touch()
            by_proxy = [path for path in moved.paths[0] if len(path.ranks) == 3]
            whole = comm.rank == 0 or np.array_equal(moved[0].view("f8"), numbers(0, 400_000))
            return whole, by_proxy[0].bytes > 0, by_proxy[0].given_up
        begin, sum_ = time.monotonic(), 0
        while time.monotonic() < begin + 2 or (
            not all((where / f"done-{rank}").exists() for rank in (0, 1))
            and time.monotonic() < begin + 60
        ):
            sum_ += sum(range(1000))
        ended_before = all((where / f"done-{rank}").exists() for rank in (0, 1))
        return ended_before, dict(moving.wait()), moving.done

    def check(jobs):
        assert jobs.finish()["job"] == [(True, True, False)] * 2 + [(True, {}, True)]


@scenario("job on 2 ranks", timeout=60)
class test_what_a_thread_finds_wrong_is_raised_by_wait:
    def job(comm, fl, where):
        plan = fl.route.plan("torus:2", [(0, 1)])
        moving = fl.route.begin(comm, plan, {})  # without data
        said = []
        for _ in range(2):
            try:
                moving.wait()
            except fl.InvalidArgument as error:
                said.append(str(error))
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert len(said) == 2
            assert "data of flow 0 is missing" in said[1]


@scenario("job on 4 ranks", timeout=60)
class test_one_message_from_rank_to_rank:
    def job(comm, fl, where):
        plan = fl.route.plan("torus:2x2", [(0, 3)])
        calls = [fl.route.send, fl.route.forward, fl.route.forward, fl.route.recv]
        said = []
        for wrong in (
            lambda: fl.route.forward(comm, plan),
            lambda: fl.route.send(comm, plan, [1.0]),
            lambda: calls[comm.rank](
                comm, fl.route.plan("torus:2x2", [(0, 3), (1, 2)]), *([[1.0]] * (comm.rank == 0))
            ),
        ):
            try:
                wrong()
            except fl.InvalidArgument as error:
                said.append(str(error))
        if comm.rank == 0:
            explained = fl.route.send(comm, plan, numbers(0, 40_000), paths=2).explain()
            return said, len(explained.splitlines())
        if comm.rank == 3:
            found = fl.route.recv(comm, plan, "f8", paths=2)
            return said, bool((found == numbers(0, 40_000)).all()) and found.size
        fl.route.forward(comm, plan, paths=2)
        return said, None

    def check(jobs):
        results = jobs.finish()["job"]
        for said, _ in results:
            assert "rank 0 has another place in the plan: got 'forward'; allowed: send" in said[0]
            assert "rank 1 has another place in the plan: got 'send'; allowed: forward" in said[1]
            assert "not one of a single flow: got 2 flows" in said[2]
        assert [found for _, found in results] == [2, None, None, 40_000]


@scenario("job on 3 ranks", timeout=60)
class test_what_is_wrong_on_one_rank_is_said_on_all:
    def job(comm, fl, where):
        plan = fl.route.plan("torus:4x4", [(0, 2)])
        messages = []

        def refused(*arguments, **options):
            try:
                fl.route.exchange(comm, *arguments, **options)
            except fl.InvalidArgument as error:
                messages.append(str(error))

        refused(plan)
        refused(plan, {0: [1, 2]})
        refused(fl.route.plan("torus:4x4", [(0, 5)]), {0: [1.0]} if comm.rank == 0 else {})
        refused(fl.route.plan("torus:4x4", [(0, 1 + comm.rank % 2)]), {0: [1]})
        refused(plan, {0: [1]} if comm.rank == 0 else {}, paths=1 + comm.rank)
        refused(plan, {0: [1]} if comm.rank == 0 else {}, window=0 if comm.rank == 1 else 10)
        large = {0: numbers(0, 100_000)} if comm.rank == 0 else {}
        refused(plan, large, costs="tcp" if comm.rank == 1 else "mpi")
        other = fl.route.plan("torus:4x4", [(0, 2, 1 + comm.rank)])
        refused(other, large)
        refused(plan if comm.rank else "torus:4x4", {0: "text"})
        found = fl.route.exchange(comm, plan, {0: b"whole"} if comm.rank == 0 else None)
        return messages, {i: bytes(array) for i, array in found.items()}

    def check(jobs):
        results = jobs.finish()["job"]
        for messages, _ in results:
            missing, elsewhere, far, _, differing, window, costs, plan, no_plan = messages
            assert "data of flow 0 is missing" in missing
            assert "data of flow 0 is not this rank's" in elsewhere
            assert "a host without ranks: got 0 to 5" in far
            assert "the number of paths" in differing
            assert "rank 1 of 3: window is out of range: got 0" in window
            assert "the ranks differ in the costs" in costs
            assert "the ranks differ in the plan" in plan
            assert "rank 0 of 3: plan has a type that cannot be used" in no_plan
        assert [found for _, found in results] == [{}, {}, {0: b"whole"}]


@scenario("job on 3 ranks", timeout=60)
class test_ranks_that_run_elsewhere_go_direct:
    """All three are on this host, and the topology says that one is not."""

    def job(comm, fl, where):
        here = socket.gethostname()
        hosts = [f"{here}.domain", "elsewhere", "third"]
        links = [{"from": a, "to": b} for a in hosts for b in hosts if a < b]
        path = where / f"net-{comm.rank}.json"

        def planned(ranks):
            path.write_text(json.dumps({"hosts": hosts, "links": links, "ranks": ranks}))
            text = where / "net.json"
            if comm.rank == 0:
                path.rename(text)
            comm.Barrier()
            plan = fl.route.plan(text, [(hosts[0], "elsewhere")])
            comm.Barrier()
            return plan

        said = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for ranks in ([hosts[0], "elsewhere", hosts[0]], [hosts[0], "elsewhere", "third"]):
                plan, data = planned(ranks), {0: numbers(1, 50_000)} if comm.rank == 0 else {}
                try:
                    fl.route.exchange(comm, plan, data, paths=2, strict=comm.rank == 2)
                except fl.InvalidArgument as error:
                    said.append(str(error))
                found = fl.route.exchange(comm, plan, data, paths=2)
                assert all((a.view("f8") == numbers(1, 50_000)).all() for a in found.values())
                assert len(found) == (comm.rank == 1)
        net = plan.topology.placed(comm)
        return said, [str(warning.message) for warning in caught], net.host_of_rank

    def check(jobs):
        here = socket.gethostname()
        for rank, (said, warned, hosts) in enumerate(jobs.finish()["job"]):
            assert f"rank 1 on '{here}' and not on 'elsewhere'. Take" in said[0]
            assert f"rank 1 on '{here}' and not on 'elsewhere', and 1 more. Take" in said[1]
            expected = [f"flows go direct: {problem}" for problem in said]
            assert warned == (expected if rank == 0 else [])
            assert hosts == (0, 0, 0)


@scenario("job on 2 ranks", timeout=60)
class test_ranks_that_differ_in_where_they_run:
    def job(comm, fl, where):
        folder = where / str(comm.rank)
        folder.mkdir()
        here = socket.gethostname()
        said = {"hosts": [here], "ranks": [here] * (1 + comm.rank)}
        (folder / "net.json").write_text(json.dumps(said))
        plan = fl.route.plan(folder / "net.json", [(0, 0)])
        try:
            fl.route.exchange(comm, plan, {0: [1.0]} if comm.rank == 0 else {})
        except fl.InvalidArgument as error:
            return str(error)

    def check(jobs):
        first, second = jobs.finish()["job"]
        assert first == second
        assert "the hosts of the ranks" in first


def refused_by_all_that_takes_a_network(comm, fl, where, net, **options):
    """Return what is said where a network is used: in an exchange, a coupling, a sparse write."""
    data = {0: numbers(0, 100_000)} if comm.rank == 0 else {}
    has = [((0,), (10,))] if comm.rank == 0 else []
    said = []
    for call in (
        lambda: fl.route.exchange(comm, fl.route.plan(net, [(0, 1)], "direct"), data, **options),
        lambda: fl.route.Redistribution(comm, 10, "f8", has=has, network=net, **options),
        lambda: fl.route.sparse_write(comm, where / "x", {comm.rank: b"a"}, network=net, **options),
    ):
        try:
            call()
        except fl.InvalidArgument as error:
            said.append(str(error))
    return said


@scenario("job on 3 ranks", timeout=60)
class test_files_of_one_name_that_say_different_things:
    """On rank 1 a link has another bandwidth or latency, or a pair of hosts another route."""

    def job(comm, fl, where):
        folder = where / str(comm.rank)
        folder.mkdir()
        said = []
        for other in ({"bandwidth": 1e9}, {"latency": 1e-3}, {"routes": [["a", "c", "b"]]}):
            links = [{"from": a, "to": b} for a, b in ("ab", "bc", "ac")]
            net = {"hosts": list("abc"), "links": links, "routes": [["a", "b"]]}
            if comm.rank == 1:
                (net if "routes" in other else links[0]).update(other)
            (folder / "net.json").write_text(json.dumps(net))
            said += refused_by_all_that_takes_a_network(comm, fl, where, folder / "net.json")
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert len(said) == 9
            for message in said:
                assert "the ranks differ in the links of the topology" in message
                assert "Give every rank the same file" in message


@scenario("job on 3 ranks", timeout=60)
class test_the_strictest_rank_says_what_happens_elsewhere:
    def job(comm, fl, where):
        folder = where / str(comm.rank)
        folder.mkdir()
        links = [{"from": a, "to": b} for a, b in ("ab", "bc", "ac")]
        (folder / "net.json").write_text(json.dumps({"hosts": list("abc"), "links": links}))
        return refused_by_all_that_takes_a_network(
            comm, fl, where, folder / "net.json", strict=comm.rank == 1
        )

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert len(said) == 3
            for message in said:
                assert "ranks run on other hosts than the topology net.json says" in message
