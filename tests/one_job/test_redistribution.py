# SPDX-License-Identifier: Apache-2.0
"""Two groups of ranks cut a global array in different ways, and one sends it to the other."""

import threading
import time

import numpy as np
import pytest
from harness import scenario

import fluvial as fl


def cut(draw, shape, owners):
    """Return (owner, offset, extent) of boxes that make up the array."""
    boxes = [((0,) * len(shape), tuple(shape))]
    for _ in range(draw.integers(0, 10)):
        offset, extent = boxes.pop(draw.integers(0, len(boxes)))
        axis = draw.integers(0, len(shape))
        at = draw.integers(0, extent[axis] + 1)
        for begin, size in ((0, at), (at, extent[axis] - at)):
            boxes.append(
                (
                    (*offset[:axis], offset[axis] + begin, *offset[axis + 1 :]),
                    (*extent[:axis], size, *extent[axis + 1 :]),
                )
            )
    return [(int(draw.choice(owners)), *box) for box in boxes]


def inside(offset, extent):
    return tuple(slice(o, o + e) for o, e in zip(offset, extent, strict=True))


def any_layout(draw, array):
    """Return the same values, in another order of axes or with gaps between them."""
    kind = draw.integers(0, 3)
    if kind == 0 or array.ndim == 0:
        return np.ascontiguousarray(array)
    if kind == 1:
        return np.asfortranarray(array)
    wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    view = wide[(slice(1, None, 2),) * array.ndim]
    view[...] = array
    return view


@scenario("job on 5 ranks", timeout=120)
class test_any_two_cuts_agree_with_numpy:
    """Two ranks have the array and three want it, or all do both; some boxes come twice."""

    def job(comm, fl, where, seed):
        wrong = []
        for trial in range(40):
            draw = np.random.default_rng(seed + trial)  # the same on all ranks
            shape = draw.integers(1, 12, draw.integers(1, 5))
            dtype = draw.choice(["f8", "f4", "i2", "u1", "c16", "?"])
            groups = ([0, 1], [2, 3, 4]) if trial % 2 else (range(5), range(5))
            held, wanted = (cut(draw, shape, group) for group in groups)
            wanted += [wanted[draw.integers(0, len(wanted))] for _ in range(2)]
            has, wants = (
                [box for owner, *box in boxes if owner == comm.rank] for boxes in (held, wanted)
            )
            with fl.route.Redistribution(comm, shape, dtype, has=has, wants=wants) as coupling:
                for step in range(3):
                    field = draw.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)
                    own = np.random.default_rng((seed, trial, step, comm.rank))
                    given = [any_layout(own, field[inside(*box)]) for box in has]
                    out = None
                    if step:
                        out = [any_layout(own, np.zeros(box[1], dtype)) for box in wants]
                    found = coupling.move(given, out)
                    wrong += [
                        (trial, step, box)
                        for box, array in zip(wants, found, strict=True)
                        if array.dtype != dtype or not np.array_equal(array, field[inside(*box)])
                    ]
        return wrong

    def check(jobs, seed):
        jobs.start("job", seed=seed)
        assert jobs.finish()["job"] == [[]] * 5


@scenario("job on 6 ranks", timeout=90)
class test_two_groups_couple_along_planned_paths:
    """Ranks 0 and 1 send to 4 and 5; the two between them have nothing and pass data on."""

    def job(comm, fl, where):
        n = 600
        has = [((comm.rank * n // 2, 0), (n // 2, n))] if comm.rank < 2 else []
        wants = [((0, (comm.rank - 4) * n // 2), (n, n // 2))] if comm.rank > 3 else []
        net = fl.route.topology("torus:2x3")
        wrong = 0
        with fl.route.Redistribution(
            comm, (n, n), "f8", has=has, wants=wants, network=net, window=16384, checksum=True
        ) as coupling:
            for step in range(3):
                field = np.arange(n * n, dtype="f8").reshape(n, n) + step
                found = coupling.move([field[inside(*box)] for box in has])
                wrong += sum(
                    not np.array_equal(array, field[inside(*box)])
                    for box, array in zip(wants, found, strict=True)
                )
            return wrong, coupling.flows, coupling.speed_up, coupling.explain()

    def check(jobs):
        results = jobs.finish()["job"]
        assert [wrong for wrong, *_ in results] == [0] * 6
        _, flows, speed_up, said = results[3]
        assert [(a, b, size) for a, b, size, _ in flows] == [
            (a, b, 300 * 300 * 8) for a in (0, 1) for b in (4, 5)
        ]
        assert any(len(path) > 2 for flow in flows for path in flow.paths)
        assert speed_up > 1.2
        assert len(said.splitlines()) == 4


@scenario("job on 3 ranks", timeout=60)
class test_what_is_wrong_on_one_rank_is_said_on_all:
    def job(comm, fl, where):
        messages, me = [], comm.rank
        row = [((me,), (1,))]

        def refused(shape=3, dtype="f8", has=row, wants=row, **options):
            try:
                fl.route.Redistribution(comm, shape, dtype, has=has, wants=wants, **options)
            except fl.InvalidArgument as error:
                messages.append(str(error))

        refused(has=[((max(0, me - 1),), (1,))])
        refused(wants=[((0,), (3,))], has=row if me != 1 else [])
        refused(has=[((me,), (2,))])
        refused(dtype="f8" if me else "f4")
        refused(shape=3 + me)
        refused(has=row if me != 1 else "box")
        refused(network=None if me else "torus:3")
        refused(dtype=object)
        coupling = fl.route.Redistribution(comm, 3, "f8", has=row, wants=row)
        other = np.ones(1)
        for arrays, out in (
            ([[1.0, 2.0]] if me == 2 else [[1.0]], None),
            ([np.ones(1, "f4" if me == 2 else "f8")], None),
            ([[1.0]] * (1 + (me == 1)), None),
            (["text"] if me == 0 else [[1.0]], None),
            ([other], [other] if me == 0 else None),
        ):
            try:
                coupling.move(arrays, out)
            except fl.InvalidArgument as error:
                messages.append(str(error))
        for wrong in ((1 / 0 for _ in row), [np.ma.array([1.0], mask=[True], dtype="i8")]):
            try:
                coupling.move(wrong if me == 1 else [[1.0]])
            except Exception as error:  # of the caller's own, too
                messages.append(str(error))
        right = coupling.move([[float(me)]])[0].tolist()  # it still works
        coupling.close()
        return messages, right

    def check(jobs):
        results = jobs.finish()["job"]
        for rank, (messages, right) in enumerate(results):
            assert right == [float(rank)]
            for message, words in zip(
                messages,
                [
                    "ranks 0 and 1 have the same elements: got offset (0,) extent (1,)",
                    "wants elements that no rank has: got offset (1,) extent (1,)",
                    "rank 2 of 3: box that this rank has",
                    "the dtype of the array",
                    "the shape of the array",
                    "rank 1 of 3: has has a type that cannot be used: got 'box'",
                    "the topology",
                    "object",
                    "rank 2 of 3: the array for box 0 that this rank has is another one",
                    "got float32 of (1,); allowed: float64 of (1,)",
                    "rank 1 of 3: not one array for each box that this rank has: got 2",
                    "rank 0 of 3: an array of a box",
                    "rank 0 of 3: an array in out reaches into the memory",
                    "division by zero",
                    "rank 1 of 3: masked elements of int64 have no value",
                ],
                strict=True,
            ):
                assert words in message


@scenario("job on 3 ranks", timeout=60)
class test_a_rank_that_takes_no_part_is_an_error_on_the_others:
    def job(comm, fl, where):
        ended = [where / f"ended-{rank}" for rank in (1, 2)]
        if comm.rank == 0:
            while not all(path.exists() for path in ended):
                time.sleep(0.01)
            return None
        try:
            fl.route.Redistribution(comm, 3, "f8", stall_timeout=0.5)
        except fl.TimedOut as error:
            ended[comm.rank - 1].touch()
            return str(error)

    def check(jobs):
        none, *others = jobs.finish()["job"]
        assert none is None
        assert all("not all ranks have declared" in said for said in others)


@scenario("job on 2 ranks", timeout=90)
class test_what_changes_on_its_way_is_found_by_the_checksum_where_flows_go_direct:
    """Rank 0 changes its array while it is sent: what was summed up is not what has come."""

    def job(comm, fl, where):
        size, over = 2_000_000, threading.Event()
        box = [((0,), (size,))]
        field = np.zeros(size, "u8")

        def change():
            while not over.is_set():
                field[:] += 1

        coupling = fl.route.Redistribution(
            comm,
            size,
            "u8",
            has=box if comm.rank == 0 else [],
            wants=box if comm.rank == 1 else [],
            checksum=True,
        )
        changing = threading.Thread(target=change)
        if comm.rank == 0:
            changing.start()
        said = ""
        try:
            for _ in range(100):
                coupling.move([field] if comm.rank == 0 else [])
        except fl.DamagedMessage as error:
            said = str(error)
        over.set()
        if comm.rank == 0:
            changing.join()
        return said

    def check(jobs):
        for said in jobs.finish()["job"]:
            assert "flow 0 has come with other bytes than were sent" in said


@scenario("job on 3 ranks", timeout=60)
class test_a_rank_that_fails_between_two_agreements_of_a_step_is_an_error_in_time:
    """Rank 0 has no memory to pack what it sends, after all have agreed that arrays are right."""

    def job(comm, fl, where):
        size = 2**50
        wide = np.lib.stride_tricks.as_strided(np.zeros(1, "u1"), (size,), (0,))
        box = [((0,), (size,))]
        coupling = fl.route.Redistribution(
            comm,
            size,
            "u1",
            has=box if comm.rank == 0 else [],
            wants=box if comm.rank == 1 else [],
            network="torus:3",
            paths=2,
            window=2**20,
            stall_timeout=0.5,
        )
        try:
            coupling.move([wide] if comm.rank == 0 else [], [wide] if comm.rank == 1 else [])
        except (fl.SystemError, fl.TimedOut) as error:
            return type(error).__name__, len(coupling.flows[0].paths)

    def check(jobs):
        assert jobs.finish()["job"] == [("SystemError", 2), ("TimedOut", 2), ("TimedOut", 2)]


def test_a_dtype_of_another_byte_order_is_refused():
    other = np.dtype("f8").newbyteorder("S")
    native = np.dtype("f8").str
    with pytest.raises(fl.InvalidArgument, match=f"got '{other.str}'; allowed: '{native}'"):
        fl.route.Redistribution(None, 3, other, has=[(0, 3)], wants=[(0, 3)])


@pytest.mark.parametrize("dtype", ["S3", "M8[s]", object])
def test_a_dtype_of_no_numbers_is_refused(dtype):
    with pytest.raises(
        fl.InvalidArgument, match=r"unsupported dtype: got '.*'; allowed: bool, int8"
    ):
        fl.route.Redistribution(None, 3, dtype, has=[(0, 3)], wants=[(0, 3)])


def test_alone_it_copies():
    field = np.arange(24).reshape(2, 3, 4)
    with fl.route.Redistribution(
        None,
        field.shape,
        field.dtype,
        has=[((0, 0, 0), field.shape)],
        wants=[((1, 1, 1), (1, 2, 2))],
    ) as coupling:
        assert coupling.move([field])[0].tolist() == field[1:, 1:, 1:3].tolist()
        assert coupling.flows == []
    with pytest.raises(fl.InvalidArgument, match="no further step: got it is closed"):
        coupling.move([field])


def test_bools_and_bytes_are_told_apart():
    some = np.array([0, 1, 2, 4], "u1")
    for dtype, given, out in [("?", some, None), ("u1", some > 1, None), ("?", some > 1, [some])]:
        with (
            fl.route.Redistribution(None, 4, dtype, has=[(0, 4)], wants=[(0, 4)]) as coupling,
            pytest.raises(fl.InvalidArgument, match=r"another dtype: got (uint8|bool)"),
        ):
            coupling.move([given], out)


def test_an_axis_has_no_negative_length():
    with pytest.raises(fl.InvalidArgument, match="an entry of shape is out of range: got -3"):
        fl.route.Redistribution(None, -3, "f8")
