# SPDX-License-Identifier: Apache-2.0
"""Statistics and traces of channels: the numbers, the file, the table and the picture."""

import itertools
import json
import time

import numpy as np
import pytest
from matplotlib import image

import fluvial as fl
from fluvial.stream import trace

COUNT = 40


def traced(path):
    """Run a stream on one rank that is everything; its stats, and how long it took."""
    begin = time.monotonic()
    with fl.Channel(None, producer=True, consumer=True, trace_file=str(path)) as channel:
        stream = channel.stream("numbers", op=lambda batch: time.sleep(0.002), dtype="f8")
        for i in range(COUNT):
            stream.send(float(i))
            while stream.stats["elements"] <= i:
                stream.operate_some()
        stream.terminate()
        stream.operate()
        stats = stream.stats
    return stats, time.monotonic() - begin


def test_statistics_and_a_trace_agree(tmp_path):
    path = tmp_path / "t.json"
    stats, took = traced(path)
    assert stats["sent_elements"] == stats["elements"] == COUNT
    assert stats["sent_bytes"] == stats["bytes"] == 8 * COUNT
    assert 0.002 * COUNT <= stats["processing_s"] <= took
    [rank] = trace.read_trace(path)
    assert rank.name == "producer and consumer 0"
    seconds = rank.seconds()
    assert seconds["processing"] == pytest.approx(stats["processing_s"], rel=0.1)
    assert 0 < sum(seconds.values()) <= took


def test_events_follow_each_other_or_are_nested(tmp_path):
    path = tmp_path / "t.json"
    traced(path)
    events = json.loads(path.read_text())["traceEvents"]
    blocks = [e for e in events if e["ph"] == "X"]
    assert {e["name"] for e in blocks} >= {"set-up", "processing", "terminating"}
    assert min(e["ts"] for e in blocks) == 0
    for a, b in itertools.combinations(blocks, 2):
        ends = a["ts"] + a["dur"], b["ts"] + b["dur"]
        apart = ends[0] <= b["ts"] + 0.002 or ends[1] <= a["ts"] + 0.002
        a_in_b = a["ts"] >= b["ts"] - 0.002 and ends[0] <= ends[1] + 0.002
        b_in_a = b["ts"] >= a["ts"] - 0.002 and ends[1] <= ends[0] + 0.002
        assert apart or a_in_b or b_in_a, (a, b)


def test_times_are_those_of_the_outer_block_without_the_inner():
    blocks = [
        trace.Block("stalled", "a", 0, 10),
        trace.Block("processing", "a", 2, 5),
        trace.Block("processing", "a", 6, 7),
        trace.Block("idle", "channel", 10, 12),
    ]
    assert trace.Rank("producer 0", blocks).seconds() == {
        "stalled": 6,
        "processing": 4,
        "idle": 2,
    }


def test_the_command_prints_and_draws(call, tmp_path):
    path = tmp_path / "t.json"
    traced(path)
    code, out, err = call("trace", path)
    assert (code, err) == (0, "")
    header, row = out.splitlines()
    assert "processing (s)" in header
    assert "producer and consumer 0" in row
    code, out, _ = call("trace", path, "--format", "json")
    assert json.loads(out)["rows"][0]["processing (s)"] >= 0.002 * COUNT
    png = tmp_path / "t.png"
    code, out, err = call("trace", path, "--png", png)
    assert (code, out, err) == (0, "", "")
    pixels = (image.imread(png)[..., :3].reshape(-1, 3) * 255).round().astype(int)
    wanted = tuple(bytes.fromhex(trace.COLOURS["processing"][1:]))
    assert np.all(pixels == wanted, axis=1).sum() > 500


def test_a_channel_that_fails_leaves_what_it_has(tmp_path):
    path = tmp_path / "t.json"
    with (
        pytest.raises(ZeroDivisionError),
        fl.Channel(None, producer=True, consumer=True, trace_file=str(path)) as channel,
    ):
        stream = channel.stream("numbers", op=lambda batch: 1 / 0)
        stream.send(1.0)
        stream.terminate()
        stream.operate()
    assert [file.name for file in tmp_path.iterdir()] == ["t.rank-0.json"]
    [rank] = trace.read_trace(path)
    assert rank.name == "producer and consumer 0"
    assert {"set-up", "processing"} <= {block.activity for block in rank.blocks}
    assert min(block.begin for block in rank.blocks) >= 0


def test_what_is_no_trace_is_refused(call, tmp_path):
    path = tmp_path / "t.json"
    texts = ["[1, 2]", "{}", "words", '{"traceEvents": 5}', '{"traceEvents": [{"ph": "X"}]}']
    for text in texts:
        path.write_text(text)
        code, _, err = call("trace", path)
        assert code == 2
        assert "no JSON of a trace: got" in err and "Error" not in err
    path.write_text("[" * 100_000)
    code, _, err = call("trace", path)
    assert (code, "no JSON of a trace: got" in err) == (2, True)
    path.write_text('{"traceEvents": []}')
    assert "no events are in the trace: got" in call("trace", path)[2]
    code, _, err = call("trace", tmp_path / "none.json")
    assert code == 2
    assert "no such file: got" in err
    assert "cannot read the trace (Is a directory)" in call("trace", tmp_path)[2]
    traced(path)
    code, _, err = call("trace", path, "--png", tmp_path / "t.gif")
    assert (code, "the picture cannot be written" in err) == (2, True)


@pytest.mark.parametrize(
    ("ts", "dur"), [("0", "NaN"), ("Infinity", "1"), ("0", "-1"), ("NaN", "0"), ("0", "Infinity")]
)
def test_times_that_are_none_are_refused(call, tmp_path, ts, dur):
    path = tmp_path / "t.json"
    name = '{"ph": "M", "name": "thread_name", "tid": 0, "args": {"name": "producer 0"}}'
    event = f'{{"ph": "X", "name": "idle", "cat": "a", "tid": 0, "ts": {ts}, "dur": {dur}}}'
    path.write_text(f'{{"traceEvents": [{name}, {event}]}}')
    code, out, err = call("trace", path)
    assert (code, out) == (2, "")
    assert "t.json': the times of an event are out of range: got ts" in err
    assert "dur 0 or more" in err and len(err.splitlines()) == 1
    path.write_text(path.read_text().replace(dur, "1" + "0" * 400))
    assert call("trace", path)[0] == 2


def test_a_trace_that_cannot_be_written_is_an_error():
    channel = fl.Channel(None, producer=True, consumer=True, trace_file="/no/such/place/t.json")
    with pytest.raises(fl.Error, match="cannot be written"):
        channel.close()
