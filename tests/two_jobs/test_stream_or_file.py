# SPDX-License-Identifier: Apache-2.0
"""One analysis, whose code does not know whether its series is live or in files."""

import numpy as np
from harness import scenario

SHAPE = (8, 6)
GRID = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}
OF_SERIES = {"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "fields/"}
OF_STEP = {"dt": 0.25, "timeUnitSI": 1e-15}


def field(index, component):
    return np.arange(48.0).reshape(SHAPE) * (1 + index) - 100 * "xy".index(component)


def write(comm, fl, where):
    with fl.open("waves", "w", comm=comm) as series:
        series.attrs.update(OF_SERIES)
        for index in range(3):
            with series.step(time=index / 4, attrs=OF_STEP) as step:
                rows = slice(4 * comm.rank, 4 * comm.rank + 4)
                for component in "xy":
                    step.put(
                        f"fields/E/{component}",
                        field(index, component)[rows],
                        offset=(rows.start, 0),
                        shape=SHAPE,
                        attrs={"unitSI": 3.0, "unitDimension": [1.0] + 6 * [0.0], **GRID},
                    )


def write_file(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs.update(OF_SERIES)
        file.attrs["iterationEncoding"] = "groupBased"
        for index in range(3):
            step = file.create_group(f"data/{index}")
            step.attrs.update({"time": index / 4, **OF_STEP})
            mesh = step.create_group("fields/E")
            mesh.attrs.update({**GRID, "unitDimension": [1.0] + 6 * [0.0]})
            for component in "xy":
                mesh[component] = field(index, component)
                mesh[component].attrs["unitSI"] = 3.0


def analyse(fl, name, comm):
    """Return what an analysis finds in each step; nothing in here tells a stream from a file."""
    found = []
    with fl.open(name, comm=comm, step_timeout=20) as series:
        for step in series:
            e = step.meshes["E"]
            inner = e.x.sel(y=slice(1.5, 3.0)).where("value > 10")
            both = step.reduce(
                {"speed": fl.ops.Apply(np.hypot, "max")}, ["fields/E/x", "fields/E/y"]
            )
            found.append(
                {
                    "step": (step.index, step.time, step.dt, step.attrs["timeUnitSI"]),
                    "names": sorted(step),
                    "of record": (e.attrs["unitSI"], e.attrs["unitDimension"], sorted(e)),
                    "mean": e.y.mean("x").values.tolist(),
                    "y": e.y.mean("x").coords["y"].values.tolist(),
                    "inner": (float(inner.sum()), int(inner.count())),
                    "si": float(e.x.si.max()),
                    "read": e.x.sel(x=4.0).read().values.tolist(),
                    "both": float(both["speed"]),
                    "mine": sum(
                        float(step["fields/E/x"][piece.selection].sum())
                        for piece in step.mine("even-binpacking", ["fields/E/x"])["fields/E/x"]
                    ),
                    "part": float(step.reduce("sum", "fields/E/x", None, np.s_[2:4, ::2])),
                }
            )
    return found


@scenario("writer on 2 ranks, reader on 2 ranks", timeout=90)
class test_one_code_for_stream_and_file:
    writer = write

    def reader(comm, fl, where):
        path = where / "run.h5"
        if comm.rank == 0:
            write_file(path)
        comm.Barrier()
        return analyse(fl, str(path), comm), analyse(fl, "waves", comm)

    def check(jobs):
        by_rank = jobs.finish()["reader"]
        for found in zip(*(of_file + of_stream for of_file, of_stream in by_rank), strict=True):
            shares = [step.pop("mine") for step in found]
            whole = field(found[0]["step"][0], "x").sum()
            assert sum(shares) == whole and all(shares)
        for of_file, of_stream in by_rank:
            assert len(of_file) == len(of_stream) == 3
            for stored, live in zip(of_file, of_stream, strict=True):
                assert stored == live
            assert of_stream[1]["si"] == 3 * field(1, "x").max()
