# SPDX-License-Identifier: Apache-2.0
"""Arrays as inputs and results of tasks."""

import numpy as np
import pytest

import fluvial as fl

ARRAYS = {
    "C order": np.arange(12.0).reshape(3, 4),
    "Fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(24)[::2],
    "large": np.arange(100_000),
    "a record": np.zeros(3, [("a", "i4"), ("b", "S2")]),
    "objects": np.array([1, None, "a"], object),
    "nothing": np.empty((0, 3)),
    "a scalar": np.array(1.5),
}


def read_only(array):
    array = array.view()
    array.flags.writeable = False
    return array


def looked_at(array):
    return array.flags.writeable, array.tolist(), array.dtype.str


@pytest.fixture(scope="module", params=[(), (1,)], ids=["serial", "ranks"])
def pool(request):
    with fl.Pool(*request.param) as made:
        yield made


@pytest.mark.parametrize("name", ARRAYS)
def test_what_cannot_be_written_here_can_be_there(pool, name):
    array = read_only(ARRAYS[name])
    writable, values, dtype = pool.submit(looked_at, array).result(timeout=60)
    assert (writable, values, dtype) == (True, array.tolist(), array.dtype.str)
    back = pool.submit(read_only, ARRAYS[name]).result(timeout=60)
    assert back.flags.writeable
    assert back.tolist() == array.tolist()
    assert not array.flags.writeable


def test_two_names_of_one_array_stay_one(pool):
    array = read_only(np.arange(5))
    first, second = pool.submit(lambda: (array, array)).result(timeout=60)
    assert first is second
    first[0] = 7
    assert array[0] == 0
