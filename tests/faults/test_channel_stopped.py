# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP of one rank of a channel: an error on all ranks that names it, and no rank hangs."""

import signal
import time

from faults.channel_stops import CASES, STALL_TIMEOUT, numbers, open_channel, stand_by
from harness import scenario, wait_until


@scenario("channel on 4 ranks", timeout=120)
class test_every_wait_ends_and_names_who_is_stopped:
    def channel(comm, fl, where):
        told = {}
        for name, (play, _, options) in CASES.items():
            begin = time.monotonic()
            try:
                with open_channel(comm, fl, **options) as channel:
                    play(comm, fl, channel, lambda name=name: stand_by(where, name))
                told[name] = "nothing", "", 0
            except fl.Error as error:
                told[name] = type(error).__name__, str(error), time.monotonic() - begin
            (where / f"{name} ended on {comm.rank}").touch()
            comm.Barrier()  # the next case begins when the stopped rank has gone on
        return told

    def check(jobs):
        job = jobs.start()
        pids = [job.pid(rank) for rank in range(4)]
        for name, (_, victim, _) in CASES.items():
            wait_until((jobs.where / name).exists, timeout=40, what=f"rank {victim}: {name}")
            job.signal(signal.SIGSTOP, rank=victim)
            others = [rank for rank in range(4) if rank != victim]
            ended = [jobs.where / f"{name} ended on {rank}" for rank in others]
            wait_until(lambda e=ended: all(f.exists() for f in e), timeout=30, what=name)
            (jobs.where / f"{name} is over").touch()
            job.signal(signal.SIGCONT, rank=victim)
        for told in jobs.finish()["channel"]:  # the stopped rank is told so, too
            for name, (_, victim, _) in CASES.items():
                kind, message, took = told[name]
                assert kind == "PeerStalled", (name, message)
                assert f"rank {victim} of 4: process {pids[victim]} on " in message
                assert "was stopped by a signal" in message
                assert f"stall_timeout={STALL_TIMEOUT:g} s" in message
                assert took < 30


@scenario("channel on 4 ranks", timeout=90)
class test_what_is_no_stall:
    def channel(comm, fl, where):
        def compute(batch):
            """Take longer than the limit, and keep Python's lock."""
            if batch[0] == 0:
                end = time.monotonic() + 1.6 * STALL_TIMEOUT
                while time.monotonic() < end:
                    pass

        with open_channel(comm, fl) as channel:
            stream = numbers(channel, op=compute)
            if channel.producer:
                for i in range(2000):
                    stream.send(i)
                stream.terminate()
            else:
                stream.operate()
            if comm.rank == 1:
                stand_by(where, "stop me shortly")
            later = numbers(channel, op="sum")
            if comm.rank == 1:
                stand_by(where, "stop all")
                later.send(42)
                later.terminate()
            elif channel.producer:
                later.terminate()
            return float(later.result()) if channel.consumer else 42.0

    def check(jobs):
        job = jobs.start()
        wait_until((jobs.where / "stop me shortly").exists, timeout=40)
        job.signal(signal.SIGSTOP, rank=1)
        time.sleep(STALL_TIMEOUT / 3)
        job.signal(signal.SIGCONT, rank=1)
        (jobs.where / "stop me shortly is over").touch()
        wait_until((jobs.where / "stop all").exists, timeout=40)
        for rank in range(4):
            job.signal(signal.SIGSTOP, rank=rank)
        time.sleep(1.6 * STALL_TIMEOUT)
        for rank in (3, 2, 0, 1):  # ranks that wait go on before the rank that they wait for
            job.signal(signal.SIGCONT, rank=rank)
        (jobs.where / "stop all is over").touch()
        assert jobs.finish()["channel"] == [42.0] * 4
