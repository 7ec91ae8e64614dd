# SPDX-License-Identifier: Apache-2.0
"""One rank in four verbs at the same time: while it waits in one it serves the others."""

import h5py
import numpy as np
from harness import scenario

ELEMENTS = 10_000


@scenario("job on 2 ranks", timeout=90)
class test_a_rank_that_waits_serves_every_verb:
    """It waits for a scan; in that wait its operation runs, and waits for room in a full stage; in
    that wait it processes elements of another stream, and answers queries about them."""

    def job(comm, fl, where):
        path = where / "numbers.h5"
        if comm.rank == 0:
            with h5py.File(path, "w") as file:
                file["x"] = np.arange(1000.0)
        comm.Barrier()
        play = writes if comm.rank == 1 else reads
        return play(comm, fl, where, path)

    def check(jobs):
        reader, writer = jobs.finish()["job"]
        assert reader == {
            "mean": 499.5,
            "sum": ELEMENTS * (ELEMENTS - 1) // 2,
            "inside": True,
            "read": [1.0, 2.0, 3.0],
        }
        assert writer == {"mean": 499.5, "elements": 3}


def open_streams(fl, comm, op=None):
    channel = fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank == 1, timeout=30)
    steps = channel.stream("steps", dtype="f8", op=op or (lambda batch: None))
    return channel, steps, channel.stream("numbers", dtype="i8", op="sum", buffer_bytes=4096)


def writes(comm, fl, where, path):
    elements = 0
    with fl.open("staged", "w", queue_steps=1, readers=1) as series:

        def write(batch):
            nonlocal elements
            for value in batch:
                (where / f"begins {value:g}").touch()
                with series.step() as step:  # the second waits until the first was read
                    step.put("x", np.full(10, value))
                (where / f"wrote {value:g}").touch()
                elements += 1

        channel, _, _ = open_streams(fl, comm, write)
        with fl.open(str(path), comm=comm) as file:
            mean = float(file["x"].start("mean").wait())
        channel.close()
    return {"mean": mean, "elements": elements}


def reads(comm, fl, where, path):
    with fl.open("staged") as series:
        channel, steps, numbers = open_streams(fl, comm)
        with fl.open(str(path), comm=comm) as file:
            scan = file["x"].start("mean")
            for value in (1.0, 2.0, 3.0):
                steps.send(value)
            steps.flush()
            for number in range(ELEMENTS):  # many times what the buffer holds
                numbers.send(number)
            numbers.flush()
            while (answer := numbers.query()).elements < ELEMENTS:
                pass
            inside = (where / "begins 2").exists() and not (where / "wrote 2").exists()
            staged = iter(series)
            read = [float(next(staged)["x"].read()[0]) for _ in range(3)]
            mean = float(scan.wait())
        channel.close()
    return {"mean": mean, "sum": int(answer.result), "inside": inside, "read": read}
