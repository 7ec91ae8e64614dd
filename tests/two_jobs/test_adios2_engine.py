# SPDX-License-Identifier: Apache-2.0
"""Programs that know ADIOS2 alone write and read series, by the plugin in `plugins/adios2`."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from harness import wait_until
from harness.adios2_engine import build, environment
from harness.page import Page

import fluvial as fl

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "adios2.md"
PROGRAM = pathlib.Path(__file__).with_name("adios2_program.py")
TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
pytestmark = pytest.mark.timeout(300)  # the first one builds the plugin


@pytest.fixture(scope="module")
def env(prefix):
    return environment(build(prefix))


@pytest.fixture
def begin(env, tmp_path):
    """A function that starts one of the programs; those that still run are killed at the end."""
    started = []

    def start(name, series, *parameters):
        words = [sys.executable, str(PROGRAM), name, series, f"directory={tmp_path}", *parameters]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(words, env=env, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(OSError):
            process.kill()
        process.communicate()


def printed(process):
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return json.loads(out) if out else None


def test_the_guide(env, tmp_path):
    """A simulation and an analysis, as the page has them, and the file of parameters."""
    page = Page.read(GUIDE)
    assert set(page.files) == {"heat.py", "adios2.xml", "look.py"}
    (session,) = page.sessions
    (shown,) = page.run(tmp_path, env | {"FLUVIAL_DIRECTORY": str(tmp_path)}, timeout=60)
    assert session.pattern.fullmatch(shown), shown


def array_of(name, number, place):
    return (np.arange(6) * (place + 1) + number).astype(name).reshape(2, 3)


def test_it_writes_and_fluvial_reads(begin, tmp_path):
    writing = begin("write_all", "all", "queue_steps=3")
    attributes = []
    with fl.open("all", directory=tmp_path) as series:
        for number, step in enumerate(series):
            types = [name for name in step if name[1:].isdecimal()]
            assert len(types) == 12
            for place, name in enumerate(TYPES):
                found = step[name].read()
                np.testing.assert_array_equal(found, array_of(name, number, place))
                assert found.dtype == np.dtype(name)
            np.testing.assert_array_equal(step["data/0/E"].read(), array_of("c16", number, 11))
            assert step["count"].read()[()] == 2**60 + number
            assert step["ratio"].read()[()] == 0.5 + number
            assert bytes(step["name"].read()).decode() == "step " + "x" * number
            attributes.append([dict(step.attrs), dict(step["f8"].attrs), dict(step["count"].attrs)])
        assert series.attrs["title"] == "all types"
    unit = {"unitSI": [0.5, 0.25], "adios2_types": "float\tunitSI\n"}
    axes = unit | {"axes": ["y", "x"]}
    late = {"late": [1, 2, 3], "adios2_types": "int32_t\tlate\n"}
    assert attributes[0] == [{}, unit, {"unit": "K"}]
    assert attributes[1] == [{}, axes, {"unit": "K"}]
    assert attributes[2] == [late, axes, {"unit": "K"}]
    assert "no step has the attributes 'lost'" in writing.communicate(timeout=30)[1]


def test_it_writes_and_it_reads(begin):
    begin("write_all", "all", "queue_steps=3")
    steps = printed(begin("read_all", "all"))
    assert [number for number, *_ in steps] == [0, 1, 2]
    for number, variables, attributes, types in steps:
        for place, name in enumerate(TYPES[:10]):
            array = array_of(name, number, place)
            assert variables[name] == [str(array.dtype), [2, 3], array.ravel().tolist()]
        assert variables["c16"][2][::2] == array_of("f8", number, 11).ravel().tolist()
        assert variables["count"] == ["int64", [], [2**60 + number]]
        assert variables["name"] == "step " + "x" * number
        assert variables["/data/0/E"] == variables["c16"]
        assert attributes["f8/unitSI"] == [0.5, 0.25]
        assert attributes["title"] == "all types"
        assert (types["f8/unitSI"], types["small"]) == ("float", "int16_t")
        assert not [name for name in attributes if "adios2_" in name]
        assert attributes.get("late") == ([1, 2, 3] if number == 2 else None)


def test_fluvial_writes_and_it_reads(begin, tmp_path):
    """Shapes and types change, datasets come and go; float16 is read as float32."""
    reading = begin("read_all", "mixed")
    with fl.open("mixed", "w", directory=tmp_path, queue_steps=4) as series:
        series.attrs["of"] = 5
        for number in range(3):
            with series.step(attrs={"even": number % 2 == 0}) as step:
                step.put("x", np.arange(4 + number, dtype="f8"))
                step.put("half", np.full((2, 2), 0.5 + number, "f2"))
                step.put("scalar", np.float64(number))
                step.put("changing", np.ones(2, "i4" if number < 2 else "f4"))
                if number == 1:
                    step.put("now", np.zeros((2, 3), "u1"), attrs={"none": [0.5]})
    steps = printed(reading)
    for number, variables, attributes, _ in steps:
        assert variables["x"] == ["float64", [4 + number], list(np.arange(4.0 + number))]
        assert variables["half"] == ["float32", [2, 2], [0.5 + number] * 4]
        assert variables["scalar"] == ["float64", [], [number]]
        assert variables["changing"] == ["int32" if number < 2 else "float32", [2], [1, 1]]
        assert ("now" in variables, "now/none" in attributes) == (number == 1, number == 1)
        assert (attributes["of"], attributes["even"]) == (5, number % 2 == 0)
    assert len(steps) == 3


def test_a_step_that_found_no_room_ends_again(begin, tmp_path):
    """With all that was put; and what cannot be said after the last step does not harm."""
    writing = begin("write_impatiently", "full", "queue_steps=1", "step_timeout=0.3")
    with fl.open("full", directory=tmp_path) as series:
        found = []
        for step in series:
            found.append(step["x"].read().tolist())
            time.sleep(0.8)
    assert found == [[float(number)] * 4 for number in range(6)]
    out, errors = writing.communicate(timeout=30)
    assert json.loads(out) > 0
    assert "no step has the attributes (the attribute 'never' cannot be" in errors


def test_a_step_that_found_no_room_for_texts_ends_again(begin, tmp_path):
    """With each text and value, and what is said of them, which later steps know, too."""
    options = ("queue_steps=8", "step_timeout=0.3", "queue_bytes=1000000")
    writing = begin("write_texts_impatiently", "texts", *options)
    with fl.open("texts", directory=tmp_path) as series:
        for number, step in enumerate(series):
            assert sorted(step) == ["a", "b", "c", "z"]
            assert int(step["z"].read()) == number
            for name in "abc":
                assert step[name].attrs["adios2_string"] == "utf-8"
                assert bytes(step[name].read()) == str(number).encode() * 300_000
            assert step["b"].attrs["unit"] == "K"
            time.sleep(0.8)
        assert number == 3
    assert printed(writing) > 0


def test_what_becomes_of_another_type_is_read_as_that(begin, tmp_path):
    series = str(tmp_path / "types.h5")
    printed(begin("write_changing_types", series))
    (_, first, _, _), (_, second, attributes, types) = printed(begin("read_all", series))
    assert first["s"] == "abc"
    assert second["s"] == ["uint8", [4], [65, 66, 67, 200]]
    assert (attributes["large"], attributes["real"]) == (2**40 + 1, 0.75)
    assert (types["large"], types["real"]) == ("int64_t", "double")


def test_the_variables_of_a_series_are_not_those_of_the_next(begin, tmp_path):
    names = [str(tmp_path / f"{name}.h5") for name in ("one", "two")]
    for name in names:
        with fl.open(name, "w") as series, series.step() as step:
            step.put("x", np.ones(4))
            step.put(f"only_{pathlib.Path(name).stem}", np.ones(4))
    assert printed(begin("read_two", "+".join(names))) == [["only_one", "x"], ["only_two", "x"]]


def test_a_selection_is_of_its_step(begin, tmp_path):
    reading = begin("read_parts", "parts")
    array = np.arange(12.0).reshape(3, 4)
    with fl.open("parts", "w", directory=tmp_path, queue_steps=4) as series:
        for number in range(2):
            with series.step() as step:
                step.put("x", array + number)
    for number, (part, first) in enumerate(printed(reading)):
        assert part == ["float64", [1, 2], [5.0 + number, 6.0 + number]]
        assert first == ["float64", [1, 1], [0.0 + number]]


def test_a_step_that_has_not_come_is_not_ready(begin, tmp_path):
    reading = begin("poll", "slow")
    with fl.open("slow", "w", directory=tmp_path) as series:
        for _ in range(2):
            time.sleep(0.5)
            with series.step() as step:
                step.put("x", np.ones(3))
    found = printed(reading)
    assert found[0] == "NotReady"
    assert found.count("OK") == 2
    assert set(found) == {"NotReady", "OK"}


@pytest.mark.parametrize("name", ["plate.h5", "plate%T.h5", "plate.nc", "plate.nc4"])
def test_files_by_a_name_alone(begin, tmp_path, name):
    """`directory` is an option of streams, and does not hurt."""
    printed(begin("write_plate", "plate", f"Series={tmp_path / name}"))
    with fl.open(tmp_path / name) as series:
        assert series.attrs["title"] == "a plate"
        for number, step in enumerate(series):
            np.testing.assert_array_equal(step["T"].read(), np.arange(6.0) + number)
            assert step["T"].attrs["units"] == "K"
        assert len(series) == 3
    steps = printed(begin("read_all", "plate", f"Series={tmp_path / name}"))
    for number, variables, attributes, _ in steps:
        assert variables["T"] == ["float64", [6], list(np.arange(6.0) + number)]
        assert variables["n"] == ["int64", [], [number]]
        assert (attributes["title"], attributes["T/units"]) == ("a plate", "K")


def test_numbers_of_a_record_are_attributes(begin, tmp_path):
    """Files of records hold attributes of a step as variables."""
    path = tmp_path / "said.nc"
    with fl.open(path, "w") as series:
        for number in range(2):
            with series.step(time=0.5 * number, attrs={"laps": 2**40 + number}) as step:
                step.put("T", np.arange(6.0))
    steps = printed(begin("read_all", "said", f"Series={path}"))
    assert [number for number, *_ in steps] == [0, 1]
    for number, variables, attributes, _ in steps:
        assert (attributes["laps"], attributes["time"]) == (2**40 + number, 0.5 * number)
        assert "laps" not in variables
        assert variables["T"][2] == list(np.arange(6.0))


def test_ranks_of_a_parallel_program(env, launcher, tmp_path):
    """3 ranks write and 2 read, with an ADIOS2 that knows nothing of MPI."""
    where = [f"directory={tmp_path}", "Communicator=world", "queue_steps=3"]

    def words(name):
        some = where if name == "write_rows" else where[:2]
        return [sys.executable, str(PROGRAM), name, "rows", *some]

    with (
        launcher.start(
            2, words("read_rows"), timeout=60, env=env, stdout=subprocess.PIPE
        ) as reader,
        launcher.start(3, words("write_rows"), timeout=60, env=env) as writer,
    ):
        out = reader.process.communicate(timeout=75)[0].decode()
        assert (writer.wait(), reader.wait()) == (0, 0), out
    assert json.loads(out) == [[276.0 + 2400 * number, 7] for number in range(3)]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_writer_that_dies_is_an_error_of_its_reader(begin, how):
    writing = begin("write_slowly", "slow")
    reading = begin("read_all", "slow", "stall_timeout=2")
    for _ in range(3):
        assert writing.stdout.readline() == "step\n"
    writing.send_signal(how)
    _, errors = reading.communicate(timeout=30)
    assert reading.returncode == 1
    assert (" died after finishing " if how == signal.SIGKILL else "no heartbeat") in errors, errors
    writing.kill()


def test_all_ranks_that_poll_hear_of_a_writer_that_dies(begin, launcher, env, tmp_path):
    writing = begin("write_slowly", "slow")
    where = [f"directory={tmp_path}", "Communicator=world"]
    words = [sys.executable, str(PROGRAM), "poll_together", "slow", *where]
    with launcher.start(3, words, timeout=60, env=env) as reader:
        for rank in range(3):
            seen = tmp_path / f"seen-{rank}"
            wait_until(
                lambda seen=seen: seen.exists() and int(seen.read_text() or 0) >= 2, timeout=30
            )
        writing.kill()
        assert reader.wait() == 0
    told = [json.loads((tmp_path / f"told-{rank}").read_text()) for rank in range(3)]
    assert told[0][0] == told[1][0] == told[2][0]
    assert set(told[0][0]) == {"OK", "NotReady"}
    for _, error in told:
        assert "died after finishing" in error


def test_what_is_refused(begin):
    found = printed(begin("wrong", "wrong"))
    assert "Did you mean 'queue_steps'?" in found["option"]
    assert "option queue_steps: " in found["value"]
    assert "'wrld'; allowed: self, world" in found["communicator"]
    assert "MPI is not running" in found["world"]
    assert "Mode::Append" in found["append"]
    assert "rendezvous_timeout=0.1 s" in found["nobody"]
    assert "'local' is an array without a place" in found["local array"]
    assert "block 1" in found["block"]
    assert "not valid" in found["get"]  # ADIOS2's own
