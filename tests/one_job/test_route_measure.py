# SPDX-License-Identifier: Apache-2.0
"""`fluvial route measure` on one host, and what it refuses."""

import json
import socket

from harness import command, scenario


@scenario("job on 2 ranks", timeout=60)
class test_what_is_no_regular_file_is_refused_on_all_before_anything_is_measured:
    """Otherwise the first rank alone would notice, at the end, and the others wait for ever."""

    def job(comm, fl, where):
        if comm.rank == 0:
            (where / "away").symlink_to("/dev/null")
        comm.Barrier()
        names = ["", "/dev/null", "/dev/full", where / "away", f"{where}/new/", where / "x" / "y"]
        return [command.call("route", "measure", "--seconds", 9, "--out", name) for name in names]

    def check(jobs):
        first, second = jobs.finish()["job"]
        assert [code for code, _, _ in first + second] == [2] * 12
        for _, _, text in first:
            assert "the topology cannot be written: got '" in text
            assert "of a new file, or of a regular one, in a folder that exists" in text
        assert [text for _, _, text in second] == [""] * 6


@scenario("job on 2 ranks", timeout=60)
class test_an_error_of_the_writing_is_said_on_all:
    def job(comm, fl, where):
        from fluvial.cli import route_measuring

        failures = iter([OSError(28, "No space left"), fl.InvalidArgument("no regular file")])

        def fails(path):
            raise next(failures)

        route_measuring.whole_file = fails
        words = "route", "measure", "--seconds", 0.02, "--out", where / "one.json"
        return [command.call(*words), command.call(*words)]

    def check(jobs):
        first, second = jobs.finish()["job"]
        assert [code for code, _, _ in first + second] == [2] * 4
        assert "one.json' (No space left); allowed: a path in a folder" in first[0][2]
        assert "one.json' (no regular file); allowed: a path in a folder" in first[1][2]


@scenario("job on 3 ranks", timeout=60)
class test_one_host_has_no_network:
    def job(comm, fl, where):
        code, _, err = command.call("route", "measure", "--out", where / "one.json")
        refused = [
            command.call("route", "measure", "--out", where / "none" / "one.json"),
            command.call("route", "measure", "--out", where),
            command.call("route", "measure", "--out", where / "two.json", "--seconds", 0),
        ]
        net = fl.route.topology(where / "one.json")
        return code, err, refused, (net.hosts, net.host_of_rank, net.name(0))

    def check(jobs):
        results = jobs.finish()["job"]
        for rank, (code, err, refused, net) in enumerate(results):
            assert code == 0
            assert net == (1, (0, 0, 0), socket.gethostname())
            assert ("all ranks run on one host" in err) == (rank == 0)
            assert [code for code, _, _ in refused] == [2, 2, 2]
            texts = [" ".join(text.split()) for _, _, text in refused]
            if rank == 0:
                assert "none/one.json" in texts[0]
                assert "the topology cannot be written" in texts[1]
                assert "seconds is out of range: got 0" in texts[2]
            else:
                assert texts == ["", "", ""]
        assert not (jobs.where / "two.json").exists()
        assert json.loads((jobs.where / "one.json").read_text())["links"] == []
