# SPDX-License-Identifier: Apache-2.0
"""`fluvial.pipe`: what is left when it cannot begin, and when it is interrupted."""

import contextlib
import signal
import threading

import numpy as np
import pytest
from fluvial.pipeline.interruption import Interruption
from fluvial.store.hdf5_output import Hdf5Output
from harness.written_run import write_run

import fluvial as fl


def test_a_destination_that_is_a_source_is_refused_and_untouched(tmp_path):
    write_run(tmp_path / "a.h5", 1)
    (tmp_path / "link.h5").symlink_to(tmp_path / "a.h5")
    for target in ("a.h5", "link.h5"):
        with pytest.raises(fl.InvalidArgument, match="the destination is a source"):
            fl.pipe(tmp_path / "a.h5", tmp_path / target)
    assert len(fl.open(str(tmp_path / "a.h5"))) == 1


@pytest.mark.parametrize(
    ("source", "target", "reading"),
    [
        ("n%T.h5", "n2.h5", {}),
        ("n%T.h5", "link.h5", {}),
        ("n1.h5", "n%T.h5", {}),
        (["n0.h5", "n1.h5"], "n%01T.h5", {}),
        ("n%T.h5", "n7.h5", {"follow": True}),
        ("h*.nc", "h0.nc", {}),
        ("h*.nc", "h9.nc", {"follow": True}),
        ("same/h*.nc", "h9.nc", {"follow": True}),
    ],
)
def test_a_destination_that_is_one_of_the_files_of_a_source_is_refused(
    tmp_path, source, target, reading
):
    for suffix in ("n%T.h5", "h%T.nc"):
        with fl.open(str(tmp_path / suffix), "w") as series:
            for index in range(3):
                with series.step(time=float(index)) as step:
                    step.put("x", np.full(4, index))
    (tmp_path / "link.h5").symlink_to(tmp_path / "n2.h5")
    (tmp_path / "same").symlink_to(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    names = [str(tmp_path / name) for name in ([source] if isinstance(source, str) else source)]
    with pytest.raises(fl.InvalidArgument, match="the destination is a source"):
        fl.pipe(names, tmp_path / target, reading=reading, datasets="x")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after == before


def test_a_destination_may_have_a_name_that_fits_the_pattern_of_its_sources(tmp_path):
    with fl.open(str(tmp_path / "h%T.nc"), "w") as series:
        for index in range(3):
            with series.step(time=float(index)) as step:
                step.put("x", np.full(4, index))
    assert fl.pipe(tmp_path / "h*.nc", tmp_path / "h_all.nc").steps == 3


def test_a_source_that_is_not_there_leaves_the_destination_alone(tmp_path):
    write_run(tmp_path / "b.h5", 1)
    with pytest.raises(fl.Error):
        fl.pipe(tmp_path / "no.h5", tmp_path / "b.h5")
    assert len(fl.open(str(tmp_path / "b.h5"))) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": "99"}, "nothing to pipe: got steps '99' of .*fluvial info"),
        ({"datasets": "nosuch"}, "nosuch.*no step was written to"),
        ({"isel": {"nosuch": 0}}, "nosuch.*no step was written to"),
        ({"isel": {"x": 99}}, "99.*no step was written to"),
        ({"dtype": {"meshes/n": "c8"}}, "complex64"),
        ({"dtype": {"particles/*": "f4"}}, r"got 'particles/\*'; allowed: .*'meshes/n'"),
    ],
)
@pytest.mark.parametrize("live", [False, True])
def test_what_fits_no_step_leaves_the_destination_alone(tmp_path, options, message, live):
    write_run(tmp_path / "b.h5", 1)
    with contextlib.ExitStack() as opened:
        if live:
            writer = fl.open("live", "w", directory=tmp_path, readers=0, queue_steps=4)
            opened.callback(writer.close)
            with writer.step() as step:
                step.put("meshes/n", np.arange(3), attrs={"axisLabels": ["x"]})
            threading.Timer(0.5, writer.close).start()
            source, reading = "live", {"directory": tmp_path}
        else:
            write_run(tmp_path / "a.h5", 1)
            source, reading = tmp_path / "a.h5", None
        with pytest.raises(fl.InvalidArgument, match=message):
            fl.pipe(source, tmp_path / "b.h5", reading=reading, **options)
    assert len(fl.open(str(tmp_path / "b.h5"))) == 1


def test_a_dtype_for_what_cannot_have_it(tmp_path):
    with fl.open(str(tmp_path / "a.h5"), "w") as series, series.step() as step:
        step.put("c", np.ones(3, "c16"))
        step.put("x", np.ones(3))
    with pytest.raises(fl.InvalidArgument, match=r"got 'c' of complex128; .* which are 'x'"):
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", dtype={"c": "f4"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": "3:x"}, "got '3:x'"),
        ({"steps": "1:5:0"}, "got '1:5:0'"),
        ({"steps": "-1"}, "no last step"),
        ({"rate": 0}, "rate is out of range: got 0"),
        ({"rate": 1, "original_timing": True}, "got both"),
        ({"speed": 2}, "got 2 alone"),
        ({"dtype": "S4"}, "cannot convert to this dtype"),
        ({"dtype": "c8"}, "cannot convert to this dtype"),
        ({"strategy": "roundrobin"}, "'roundrobin'"),
    ],
)
def test_options_that_cannot_be_used(tmp_path, options, message):
    write_run(tmp_path / "a.h5", 1)
    with pytest.raises(fl.InvalidArgument, match=message):
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", **options)
    assert not (tmp_path / "b.h5").exists()


def test_an_interruption_waits_for_the_end_of_a_step(tmp_path, monkeypatch):
    write_run(tmp_path / "a.h5", 5)

    def interrupt(report):
        if report.steps == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", on_step=interrupt)
    with fl.open(str(tmp_path / "b.h5")) as file:
        assert file.steps.indices == [0, 1]
    finish = Hdf5Output.finish

    def interrupted_finish(output):
        signal.raise_signal(signal.SIGINT)
        finish(output)

    monkeypatch.setattr(Hdf5Output, "finish", interrupted_finish)
    with pytest.raises(KeyboardInterrupt):
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5")
    assert len(fl.open(str(tmp_path / "b.h5"))) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done = []
    with pytest.raises(KeyboardInterrupt), Interruption() as interruption:
        with interruption.held_back():
            signal.raise_signal(signal.SIGINT)
            done.append("whole")
        done.append("not here")
    assert done == ["whole"]
    with (
        pytest.raises(KeyboardInterrupt),
        Interruption() as interruption,
        interruption.held_back(),
    ):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("nor here")
    assert done == ["whole"]
