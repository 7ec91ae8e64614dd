# SPDX-License-Identifier: Apache-2.0
"""`fluvial route explain`: what it prints, draws and refuses."""

import csv
import functools
import io
import json

import pytest

TORUS = ("--topology", "bgq:4x4x4x4x2", "--from", 0, "--to", 426)


@pytest.fixture
def explain(call):
    """Return a function that runs `fluvial route explain`: exit code, output, errors."""
    return functools.partial(call, "route", "explain")


def test_paths_and_proxies(explain):
    code, out, err = explain(*TORUS, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["name"] == "bgq:4x4x4x4x2"
    assert [row["path"] for row in found["rows"]] == list(range(1, 10))
    assert all(row["used"] and row["speed-up"] > 7 for row in found["rows"])
    for row in found["rows"]:
        nodes = row["way"].split(" → ")
        assert (nodes[0], nodes[-1], len(nodes)) == ("0", "426", row["links"] + 1)
        assert row["proxies"] == "none" or set(row["proxies"].split(" → ")) < set(nodes)
    _, table, _ = explain(*TORUS)
    assert len(table.splitlines()) == 10


def test_a_small_message_goes_direct(explain):
    _, out, _ = explain(*TORUS, "--bytes", "8KiB", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["used"] for row in rows] == ["True"] + ["False"] * 8
    assert {row["speed-up"] for row in rows} == {"1.0"}


def test_what_if(explain):
    _, out, _ = explain(
        *TORUS, "--sizes", "8KiB, 1MiB,128MiB", "--costs", "pami", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [int(row["bytes"]) for row in rows] == [8192, 2**20, 2**27]
    gains = [float(row["speed-up"]) for row in rows]
    assert gains[0] == 1 and gains[1] > 6 and gains[2] > 8.7
    assert rows[0]["window (bytes)"] == ""
    _, out, _ = explain(*TORUS, "--what-if", "--format", "json")
    assert len(json.loads(out)["rows"]) == 11


def test_several_flows_are_planned_together(explain):
    words = ("--topology", "torus:4x4", "--from", 0, "--to", 5, "--from", 1, "--to", 4)
    _, out, _ = explain(*words, "--proxies", 0, "--format", "json")
    assert [row["flow"] for row in json.loads(out)["rows"]] == ["0 → 5", "1 → 4"]
    code, _, err = explain("--topology", "torus:4", "--from", 2, "--to", 2)
    assert (code, "the host that it comes from" in err) == (2, True)


def test_a_picture(explain, tmp_path):
    path = tmp_path / "paths.png"
    code, _, err = explain(*TORUS, "--png", path)
    assert code == 0, err
    assert path.read_bytes().startswith(b"\x89PNG")
    code, _, err = explain(*TORUS, "--png", tmp_path / "paths.nonsense")
    assert (code, "the picture cannot be written" in err) == (2, True)


def test_a_file_with_names(explain, tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n"
                    "SwitchName=top Switches=s[0-1]\n")  # fmt: skip
    _, out, _ = explain("--topology", path, "--from", "n0", "--to", "n3", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["way"] == "n0 → s0 → top → s1 → n3"
    code, out, err = explain("--topology", path, "--from", "n1", "--to", 1)
    assert (code, out) == (2, "")
    assert "got --from 'n1' and --to '1'; allowed: two hosts" in err
    assert (row["proxies"], row["used"], row["speed-up"]) == ("none", "True", "1.0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*TORUS, "--to", 3), "--from and --to come in pairs: got 1 and 2"),
        (("--topology", "bgq:4x4", "--from", 0, "--to", 1), "A, B, C, D and E"),
        (("--topology", "torus:4x4", "--from", 0, "--to", 16), "0 to 15"),
        ((*TORUS, "--sizes", "1MiB,many"), "cannot read a number of bytes"),
        ((*TORUS, "--bytes", "0"), "got '0'; allowed: 1 byte to 1,048,576 TiB"),
        ((*TORUS, "--sizes", "1e30", "--png", "x.png"), "got '1e30'; allowed: 1 byte to"),
        ((*TORUS, "--bytes", "1MiB,2MiB"), "For several write --sizes 1MiB,2MiB"),
        (("--topology", "torus:4", "--from", "00", "--to", "0"), "the host that it comes from"),
        (("--topology", "torus:4", "--from", 0, "--to", 1, "--png", "/proc/x.png"), "(No such"),
        ((*TORUS, "--planner", "fast"), "min-max"),
        ((*TORUS, "--costs", "udp"), "mpi, pami, tcp"),
        ((*TORUS, "--proxies", 3), "0 to 2"),
        ((*TORUS, "--paths", 0), "1 to 1024"),
    ],
)
def test_what_is_wrong_is_one_line(explain, words, message):
    code, out, err = explain(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
