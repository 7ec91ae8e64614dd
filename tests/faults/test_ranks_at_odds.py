# SPDX-License-Identifier: Apache-2.0
"""Ranks of one job that do not do the same: an error on every rank of both jobs, in time."""

import time

import numpy as np
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario

ODDITIES = [
    "raises",
    "other dtype",
    "other shape",
    "fewer steps",
    "other options",
    "other directory",
    "other start",
]


# No rank stops here: one that is slow for want of a core is not to be taken for stopped.
LIMITS = {**SHORT, "stall_timeout": 5}


def play(comm, fl, where, role):
    """Go through the oddities together; return error (classes, text) and seconds of each."""
    brought = []
    for oddity in ODDITIES:
        begin = time.monotonic()
        error = None
        try:
            role(
                comm, fl, f"{stream_name(where)}-{oddity.replace(' ', '-')}", oddity, comm.rank == 1
            )
        except (fl.Error, ValueError) as caught:
            error = ([kind.__name__ for kind in type(caught).__mro__], str(caught))
        brought.append((error, time.monotonic() - begin))
        comm.Barrier()
    return dict(zip(ODDITIES, brought, strict=True))


def write(comm, fl, where):
    return play(comm, fl, where, write_oddly)


def write_oddly(comm, fl, name, oddity, odd):
    options = dict(LIMITS)
    if oddity == "other options":
        options["queue_steps"] = 3 + odd
    if oddity == "other start":
        options["rendezvous_timeout"] = 3
    with fl.open(name, "w", comm=comm, **options) as series:
        for index in range(3):
            if odd and oddity == "fewer steps" and index == 2:
                break
            with series.step() as step:
                if odd and oddity == "raises" and index == 1:
                    raise ValueError("the box is too small")
                dtype = "f4" if odd and oddity == "other dtype" and index == 1 else "f8"
                rows = 21 if odd and oddity == "other shape" and index == 1 else 20
                step.put("x", np.zeros(10, dtype), offset=(10 * comm.rank,), shape=(rows,))
            time.sleep(0.1)  # else the odd rank may have closed before the others come that far


def read(comm, fl, where):
    return play(comm, fl, where, read_oddly)


def read_oddly(comm, fl, name, oddity, odd):
    options = {**LIMITS, "rendezvous_timeout": 10}
    if oddity == "other options":
        options["rendezvous_timeout"] = 1
    if oddity == "other directory" and odd:
        options["directory"] = "/"
    if oddity == "other start":
        options["start"] = "next" if odd else "oldest"
    with fl.open(name, comm=comm, **options) as series:
        for step in series:
            step["x"].read()


@scenario("writer on 2 ranks, reader on 2 ranks", writer=write, reader=read, timeout=150)
def test_all_sides_are_told(jobs):
    results = jobs.finish()
    wrote, got = results["writer"], results["reader"]

    def all_say(oddity, kind, *words, who=(*wrote, *got)):
        for told in who:
            error, seconds = told[oddity]
            assert error is not None, (oddity, told)
            kinds, text = error
            assert kind in kinds, (oddity, kinds, text)
            assert any(word in text for word in words), (oddity, text)
            assert seconds < 12, (oddity, seconds)

    others = [wrote[0], *got]
    all_say("raises", "PeerLost", "rank 1 of the writer", who=others)
    all_say("raises", "PeerLost", "ValueError: the box is too small", who=others)
    assert wrote[1]["raises"][0][1] == "the box is too small"
    for oddity, word in [("other dtype", "float32 with"), ("other shape", "(21,)")]:
        all_say(oddity, "Error", "disagree about the dataset 'x'")
        all_say(oddity, "Error", word)
    all_say("fewer steps", "PeerLost", "closed the stream after 2 steps", who=others)
    all_say(
        "other options",
        "InvalidArgument",
        "the ranks differ in the option 'queue_steps'",
        who=wrote,
    )
    all_say("other options", "TimedOut", "no writer opened", who=got)
    all_say("other start", "InvalidArgument", "the ranks differ in the option 'start'", who=got)
    all_say("other start", "TimedOut", "too few readers attached", who=wrote)
    # Ranks of a reader need no contact file beside the first one, which finds the writer.
    assert all(told["other directory"][0] is None for told in (*wrote, *got))
