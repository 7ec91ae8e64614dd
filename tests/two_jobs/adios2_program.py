# SPDX-License-Identifier: Apache-2.0
"""Programs that know ADIOS2 alone: what they write and read comes by its plugin.

::

    python adios2_program.py NAME SERIES [KEY=VALUE …]

NAME is a function of this file; the rest are parameters of the engine. What a program has found it
prints as JSON.
"""

import itertools
import json
import pathlib
import sys
import time

import adios2
import numpy as np

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def io_of(series, parameters):
    io = adios2.Adios().declare_io("io")
    io.set_engine("plugin")
    io.set_parameters({"PluginName": series, "PluginLibrary": "fluvial_adios2", **parameters})
    return io


def plain(value):
    value = np.asarray(value)
    parts = value.view(value.real.dtype) if value.dtype.kind == "c" else value
    return [str(value.dtype), list(value.shape), parts.ravel().tolist()]


def write_all(series, parameters):
    """Write arrays of all types, a value, a text and attributes that change, in three steps."""
    io = io_of(series, parameters)
    io.define_attribute("title", "all types")
    io.define_attribute("small", np.array([3, 4], "i2"))
    with adios2.Stream(io, series, "w") as out:
        for number, _ in enumerate(out.steps(3)):
            for place, name in enumerate(TYPES):
                array = (np.arange(6) * (place + 1) + number).astype(name).reshape(2, 3)
                out.write(name, array, shape=[2, 3], start=[0, 0], count=[2, 3])
            out.write("/data/0/E", array, shape=[2, 3], start=[0, 0], count=[2, 3])
            out.write("count", 2**60 + number)
            out.write("ratio", 0.5 + number)
            out.write("name", "step " + "x" * number)
            if number == 0:
                out.write_attribute("unitSI", np.array([0.5, 0.25], "f4"), "f8")
                out.write_attribute("unit", "K", "count")
                out.write_attribute("of", "a text", "name")
            if number == 1:
                out.write_attribute("axes", ["y", "x"], "f8")
                out.write_attribute("late", [1, 2, 3])
            if number == 2:
                out.write_attribute("lost", 1)


def write_plate(series, parameters):
    """Write an array, whose first step says its unit, and a number in three steps."""
    io = io_of(series, parameters)
    io.define_attribute("title", "a plate")
    with adios2.Stream(io, series, "w") as out:
        for number, _ in enumerate(out.steps(3)):
            out.write("T", np.arange(6.0) + number, [6], [0], [6])
            out.write("n", number)
            if number == 0:
                out.write_attribute("units", "K", "T")


def read_all(series, parameters):
    """Print all that there is in each step."""
    found = []
    with adios2.Stream(io_of(series, parameters), series, "r") as source:
        for _ in source.steps():
            variables = {}
            for name, said in source.available_variables().items():
                if said["Type"] == "string":
                    variables[name] = source.read(name)
                elif "complex" in said["Type"]:  # which Stream.read does not know
                    value = np.zeros((2, 3), {"float complex": "c8"}.get(said["Type"], "c16"))
                    source.engine.get(source.inquire_variable(name), value)
                    variables[name] = plain(value)
                else:
                    variables[name] = plain(source.read(name))
            attributes, types = {}, {}
            for name, said in source.available_attributes().items():
                value = source.read_attribute(name)
                types[name] = said["Type"]
                attributes[name] = (
                    value if isinstance(value, str | list) else np.asarray(value).tolist()
                )
            found.append([source.current_step(), variables, attributes, types])
    print(json.dumps(found))


def read_parts(series, parameters):
    """A selection in one step is not that of the next."""
    found = []
    with adios2.Stream(io_of(series, parameters), series, "r") as source:
        for _ in source.steps():
            part = source.read("x", start=[1, 1], count=[1, 2])
            found.append([plain(part), plain(source.read("x", start=[0, 0], count=[1, 1]))])
    print(json.dumps(found))


def poll(series, parameters):
    """Steps that have not come yet are no error."""
    io = io_of(series, parameters)
    engine = io.open(series, adios2.bindings.Mode.Read)
    found = []
    while (status := engine.begin_step(adios2.bindings.StepMode.Read, 0.0)) != (
        adios2.bindings.StepStatus.EndOfStream
    ):
        found.append(str(status).rsplit(".", 1)[-1])
        if found[-1] == "OK":
            engine.end_step()
        time.sleep(0.01)
    engine.close()
    print(json.dumps(found))


def write_rows(series, parameters):
    """Each rank has rows of its own, as many as its number and one, and a number."""
    from mpi4py import MPI

    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    first, rows = rank * (rank + 1) // 2, rank + 1
    total = ranks * (ranks + 1) // 2
    io = io_of(series, parameters)
    with adios2.Stream(io, series, "w") as out:
        for number, _ in enumerate(out.steps(3)):
            here = np.arange(first * 4, (first + rows) * 4, dtype=float).reshape(rows, 4)
            out.write("x", here + 100 * number, shape=[total, 4], start=[first, 0], count=[rows, 4])
            out.write("one", 7 + rank)


def read_rows(series, parameters):
    """Each rank reads every other row's place; the first rank prints the sums of all."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    found = []
    with adios2.Stream(io_of(series, parameters), series, "r") as source:
        for _ in source.steps():
            rows = source.inquire_variable("x").shape()[0]
            mine = [
                source.read("x", start=[row, 0], count=[1, 4]).sum()
                for row in range(comm.rank, rows, comm.size)
            ]
            found.append([comm.allreduce(float(sum(mine))), int(source.read("one"))])
    if comm.rank == 0:
        print(json.dumps(found))


def poll_together(series, parameters):
    """Poll on all ranks until an error comes; each writes how often it was OK, and the error."""
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    where = pathlib.Path(parameters["directory"])
    io = io_of(series, parameters)
    engine = io.open(series, adios2.bindings.Mode.Read)
    found = []
    try:
        while True:
            # Ranks may wait for different times: that of the first counts.
            status = engine.begin_step(adios2.bindings.StepMode.Read, 0.1 * rank)
            found.append(str(status).rsplit(".", 1)[-1])
            if found[-1] == "OK":
                engine.end_step()
            (where / f"seen-{rank}").write_text(str(found.count("OK")))
    except RuntimeError as error:
        report = where / f".told-{rank}"
        report.write_text(json.dumps([found, str(error)]))
        report.rename(where / f"told-{rank}")
    MPI.COMM_WORLD.Barrier()


def ended_late(engine, words):
    """End a step again and again until there is room; return how often there was none."""
    for late in itertools.count():
        try:
            engine.end_step()
            return late
        except RuntimeError as error:
            assert words in str(error), error


def write_impatiently(series, parameters):
    """Write steps into a full queue, each ended again and again until there is room."""
    io = io_of(series, parameters)
    engine = io.open(series, adios2.bindings.Mode.Write)
    x = io.define_variable("x", np.ones(4), [4], [0], [4])
    late = 0
    for number in range(6):
        engine.begin_step()
        array = np.full(4, float(number))
        engine.put(x, array, adios2.bindings.Mode.Deferred)
        late += ended_late(engine, "stayed full for step_timeout=0.3 s")
    io.define_attribute("never", np.array([1j]))  # of a type that no series has
    engine.close()
    print(json.dumps(late))


def write_texts_impatiently(series, parameters):
    """Texts and numbers for which there is no room at first: their steps are ended again."""
    io = io_of(series, parameters)
    engine = io.open(series, adios2.bindings.Mode.Write)
    names = ["a", "b", "c"]
    texts = [io.define_variable(name, "") for name in names]
    number = io.define_variable("z", np.array([0]))
    io.define_attribute("unit", "K", "b")
    late = 0
    for step in range(4):
        engine.begin_step()
        engine.put(number, np.array([step]))
        for text in texts:
            engine.put(text, str(step) * 300_000)
        late += ended_late(engine, "no room for")
    engine.close()
    print(json.dumps(late))


def write_changing_types(series, parameters):
    """Attributes of the series, and a variable, that become something else in the second step."""
    io = io_of(series, parameters)
    io.define_attribute("large", np.array([3], "i4"))
    io.define_attribute("real", np.array([3], "i4"))
    with adios2.Stream(io, series, "w") as out:
        for number, _ in enumerate(out.steps(2)):
            if number == 0:
                out.write("s", "abc")
            else:
                for name, value in (("large", 2**40 + 1), ("real", 0.75)):
                    io.remove_attribute(name)
                    io.define_attribute(name, value)
                io.remove_variable("s")
                out.write("s", np.array([65, 66, 67, 200], "u1"), [4], [0], [4])


def read_two(series, parameters):
    """Read two series, with one IO, and print what there is in the first step of each."""
    found = []
    io = io_of(series, parameters)
    for name in series.split("+"):
        io.set_parameter("PluginName", name)
        engine = io.open(name, adios2.bindings.Mode.Read)
        engine.begin_step()
        found.append(sorted(io.available_variables()))
        engine.end_step()
        engine.close()
    print(json.dumps(found))


def write_slowly(series, parameters):
    """A step each 0.2 s, for ever."""
    with adios2.Stream(io_of(series, parameters), series, "w") as out:
        for _ in out.steps(10**6):
            out.write("x", np.ones(4), shape=[4], start=[0], count=[4])
            print("step", flush=True)
            time.sleep(0.2)


def wrong(series, parameters):
    """Each of these is refused, and says why; the series goes on."""
    where = {"directory": parameters["directory"]}
    found = {}

    def tried(what, function):
        try:
            function()
            found[what] = "nothing"
        except Exception as error:  # whatever ADIOS2 makes of it
            found[what] = str(error)

    def opened(mode, **parameters):
        return lambda: io_of(series, where | parameters).open(series, mode)

    modes = adios2.bindings.Mode
    tried("option", opened(modes.Write, queue_step="3"))
    tried("value", opened(modes.Write, queue_steps="many"))
    tried("communicator", opened(modes.Write, Communicator="wrld"))
    tried("world", opened(modes.Write, Communicator="world"))
    tried("append", opened(modes.Append))
    tried("nobody", opened(modes.Read, rendezvous_timeout="0.1"))
    io = io_of(series, where | {"readers": "0", "queue_steps": "2", "full": "discard-oldest"})
    block = io.define_variable("block", np.ones(1), [2], [0], [2])
    with adios2.Stream(io, series, "w") as out:
        for _ in out.steps(1):
            tried("local array", lambda: out.write("local", np.ones(3), [], [], [3]))
            tried("get", lambda: out.engine.get(block, np.ones(2)))
            block.set_block_selection(1)
            tried("block", lambda: out.engine.put(block, np.ones(2)))
            out.write("fine", np.ones(3), [3], [0], [3])
    print(json.dumps(found))


if __name__ == "__main__":
    words = dict(word.split("=", 1) for word in sys.argv[3:])
    globals()[sys.argv[1]](sys.argv[2], words)
