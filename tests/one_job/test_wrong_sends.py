# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of a message along a plan: an error on all ranks, none of which waits for it."""

from harness import scenario
from wrong_calls.values import WRONG, fault_of

_OPTIONS = {"paths": 1, "window": 100, "costs": "mpi", "stall_timeout": 20.0, "strict": False}
_OPTIONS |= {"reroute_after": 2.0, "checksum": True}


def answer_of(call, comm, arguments):
    """Return whether a call raises, and what is wrong with its answer."""
    try:
        call(comm, **arguments)
    except Exception as error:
        return True, fault_of(error)
    return False, None


@scenario("job on 3 ranks", timeout=120)
class test_one_rank_is_wrong_about_one_argument:
    """Rank 0 sends, 1 receives and 2 forwards; which is wrong, and about what, goes round."""

    def job(comm, fl, where):
        plan = fl.route.plan("torus:3", [(0, 1)])
        right = {"plan": plan, **_OPTIONS}
        calls = [
            (fl.route.send, right | {"data": b"eightbit"}),
            (fl.route.recv, right | {"dtype": "u1"}),
            (fl.route.forward, right),
        ]
        call, mine = calls[comm.rank]
        answers = {"right": answer_of(call, comm, mine)}
        for rank, (of, arguments) in enumerate(calls):
            for name in arguments:
                for kind, value in WRONG.items():
                    given = mine | ({name: value()} if comm.rank == rank else {})
                    label = f"{of.__name__}({name}={kind})"
                    answers[label] = answer_of(call, comm, given)
        return answers

    def check(jobs):
        ranks = jobs.finish()["job"]
        assert [answers["right"] for answers in ranks] == [(False, None)] * 3
        refused = 0
        for label in ranks[0]:
            raised, faults = zip(*(answers[label] for answers in ranks), strict=True)
            assert not any(faults), f"{label}: {faults}"
            # What has come may be no whole number of elements, which the receiver alone knows.
            assert len(set(raised)) == 1 or label.startswith("recv(dtype="), f"{label}: {raised}"
            refused += any(raised)
        assert refused > len(ranks[0]) / 2
