# SPDX-License-Identifier: Apache-2.0
import pytest

from demo.progress import emit, parse


def test_what_is_emitted_is_parsed(capsys):
    emit("output", step=3, s=[1.5, float("nan"), float("inf")], latency=float("nan"))
    line = capsys.readouterr().out
    assert line.endswith("\n") and line.count("\n") == 1
    assert parse(line) == {"event": "output", "step": 3, "s": [1.5, None, None], "latency": None}


@pytest.mark.parametrize("line", ["", "hello", "{", '{"step": 1}', "[1]", '{"event": '])
def test_anything_else_is_no_event(line):
    assert parse(line) is None
