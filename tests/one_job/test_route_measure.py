# SPDX-License-Identifier: Apache-2.0
"""`fluvial route measure` on one host, and what it refuses."""

import contextlib
import io
import json
import socket
import sys

from harness import scenario


def run(where, *words):
    from fluvial.cli import command_line as cli

    sys.argv = ["fluvial", "route", "measure", *map(str, words)]
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


@scenario("job on 3 ranks", timeout=60)
class test_one_host_has_no_network:
    def job(comm, fl, where):
        code, _, err = run(where, "--out", where / "one.json")
        refused = [
            run(where, "--out", where / "none" / "one.json"),
            run(where, "--out", where),
            run(where, "--out", where / "two.json", "--seconds", 0),
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
