# SPDX-License-Identifier: Apache-2.0
"""`fluvial route measure` on one host, and what it refuses."""

import json
import socket

from harness import command, scenario


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
