# SPDX-License-Identifier: Apache-2.0
"""Ranks that ask for different files, or pipe different things: an error on all."""

import re

import numpy as np
import pytest
from harness import scenario


@scenario("job on 2 ranks", timeout=60)
class test_ranks_that_ask_for_different_files_and_pipes:
    def job(comm, fl, where):
        def same(name):
            return where / name

        if comm.rank == 0:
            for name in ("a.h5", "b.h5"):
                with fl.open(str(where / name), "w") as series, series.step() as step:
                    step.put("meshes/E/x", np.ones((4, 3)))
        comm.Barrier()
        own = where / ("a.h5" if comm.rank == 0 else "b.h5")
        last = comm.rank == 1
        calls = {
            "open": lambda: fl.open(str(own), comm=comm),
            "mode of no kind": lambda: fl.open(str(same("a.h5")), 5 if last else "r", comm=comm),
            "open decoded": lambda: fl.open(str(same("a.h5")), comm=comm, decode=last),
            "mode": lambda: fl.open(str(same("a.h5")), "r" if last else "w", comm=comm),
            "write": lambda: fl.open(str(where / f"new{comm.rank}.h5"), "w", comm=comm),
            "source": lambda: fl.pipe(own, same("c.h5"), comm),
            "destination": lambda: fl.pipe(same("a.h5"), where / f"c{comm.rank}.h5", comm),
        }
        many = {"rendezvous_timeout": 60.0, "step_timeout": 300.0}
        options = [
            {"datasets": ["none" if last else "meshes/*"]},
            {"dtype": "f4" if last else "f8"},
            {"strategy": "blocks" if last else "hyperslabs"},
            {"steps": "0:1" if last else None},
            {"rate": 5 if last else None, "reading": many, "writing": many},
            {"speed": 0 if last else 1},
        ]
        for option in options:
            calls[next(iter(option))] = lambda o=option: fl.pipe(
                same("a.h5"), same("c.h5"), comm, **o
            )
        said = {}
        for name, call in calls.items():
            with pytest.raises(fl.InvalidArgument) as raised:
                call()
            said[name] = str(raised.value)
        return said, sorted(path.name for path in where.glob("*.h5"))

    def check(jobs):
        for said, files in jobs.finish()["job"]:
            assert files == ["a.h5", "b.h5"]
            wrong = said.pop("mode of no kind")
            assert "unknown mode: got 5; allowed: 'w', 'r'" in wrong, wrong
            wrong = said.pop("speed")
            assert "speed is out of range: got 0" in wrong, wrong
            for name, text in said.items():
                assert "the ranks differ in what to " in text, (name, text)
                got, allowed = re.search(r"got (.*) on rank 1; allowed: (.*) as on", text).groups()
                assert got != allowed, (name, text)
            assert "got …, rate=5, speed=1.0" in said["rate"]


@scenario("job on 2 ranks", timeout=60)
class test_ranks_that_say_different_things_of_a_step_of_files:
    def job(comm, fl, where):
        last = comm.rank == 1
        part = {"offset": [2 * comm.rank], "shape": [4]}

        def write(name, attrs=None, of_series=None, **step):
            with fl.open(str(where / name), "w", comm=comm) as series:
                series.attrs.update(of_series or {})
                with series.step(**step) as out:
                    out.put("meshes/E/x", np.ones(2), attrs=attrs, **part)

        different = {
            "time": {"time": 0.5 + last},
            "iteration": {"iteration": 1 + last},
            "unitSI": {"attrs": {"unitSI": 1.0 + last}},
            "author": {"of_series": {"author": f"rank {comm.rank}"}},
            "solver": {"groups": {"meshes": {"solver": "Yee" if last else "Lehe"}}},
        }
        said = {}
        for name, options in different.items():
            with pytest.raises(fl.InvalidArgument) as raised:
                write(f"{name}.h5", **options)
            said[name] = str(raised.value)
        # An attribute that one rank alone gives is not lost, whichever rank it is.
        write("x.h5", {"unitSI": 2.0} if last else None, {"author": "last"} if last else None)
        comm.Barrier()
        with fl.open(str(where / "x.h5")) as file:
            return said, (file["data/0/meshes/E/x"].attrs["unitSI"], file.attrs["author"])

    def check(jobs):
        for said, attrs in jobs.finish()["job"]:
            assert attrs == (2.0, "last")
            for name, text in said.items():
                assert "the ranks differ in the " in text, text
                assert name in text, text


@scenario("job on 3 ranks", timeout=60)
class test_an_argument_of_a_channel_that_is_wrong_on_one_rank:
    def job(comm, fl, where):
        def opened(**wrong):
            arguments = {"producer": comm.rank == 0, "consumer": comm.rank != 0, "timeout": 30}
            if comm.rank == 1:
                arguments |= wrong
            with pytest.raises(fl.InvalidArgument) as raised:
                fl.Channel(comm, **arguments)
            return str(raised.value)

        wrong = {"producer": "no", "timeout": "long", "stall_timeout": 1j, "trace_file": 3.5}
        said = {name: opened(**{name: value}) for name, value in wrong.items()}
        said["shared_memory"] = opened(shared_memory=None)
        with fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank != 0) as channel:
            channel.stream("after", op="sum")  # the communicator is as good as before
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            for name, text in said.items():
                assert text.startswith("rank 1 of 3: "), (name, text)
                assert name in text, (name, text)
