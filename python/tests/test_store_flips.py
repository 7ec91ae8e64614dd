# SPDX-License-Identifier: Apache-2.0
"""No single inverted bit gives a wrong number that the format's newest library refuses.

Here a sample of the bits is tried. `FLUVIAL_FLIPS=all` tries each bit of each file, which takes
most of an hour; a number is that many bits of each file. `FLUVIAL_TEST_SEED` draws another sample.
The libraries are those that h5py and netCDF4 bring along, newer than the one that Fluvial uses.
"""

import os
import random
import struct

import h5py
import numpy as np
import pytest
from flips import trials as bits
from flips.cases import CASES, OLD, SQUARE, hdf5

import fluvial as fl
from fluvial import _core

FLIPS = os.environ.get("FLUVIAL_FLIPS", "40")
SEED = int(os.environ.get("FLUVIAL_TEST_SEED", "20261122").split(",")[0])


@pytest.mark.parametrize("library", sorted({case.judge for case in CASES.values()}))
@pytest.mark.timeout(36000 if FLIPS != "40" else 300)
def test_single_bits(tmp_path, library):
    print(f"FLUVIAL_TEST_SEED={SEED}")
    trials = []
    for name, case in CASES.items():
        if case.judge == library:
            path = tmp_path / name
            all_of_it = bits.every_bit(path, case.write(path))
            some = all_of_it if FLIPS == "all" else draw(all_of_it, int(FLIPS))
            trials += some
    verdict = bits.compare(library, trials)
    print(f"{len(trials)} trials, {verdict.refused} refused, {verdict.together} wrong in both")
    print(*verdict.alone, *verdict.ended, sep="\n")
    assert not verdict.alone, f"{len(verdict.alone)} wrong numbers: see above"
    assert not verdict.ended, f"{len(verdict.ended)} times the process ended: see above"
    assert verdict.refused > len(trials) // 20


def draw(trials, count):
    """Draw half of them where bytes are not zero: most of these files is empty space."""
    rng = random.Random(SEED)
    whole = trials[0].path.read_bytes()
    busy = [trial for trial in trials if whole[trial.byte]]
    return rng.sample(trials, count // 2) + rng.sample(busy, min(count // 2, len(busy)))


def test_a_chunk_index_with_an_offset_of_no_chunk(tmp_path):
    """Its first chunk was missing, and zeros were read for it."""
    path = tmp_path / "t.h5"
    hdf5(OLD, {"data": SQUARE, "chunks": (4, 5)}).write(path)
    assert float(fl.open(path)["d0"].reduce("sum", local=True)) == 24310
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"TREE\1") + 40] ^= 8
    path.write_bytes(damaged)
    with pytest.raises(_core.DamagedFile, match="index of the chunks of 'd0'"):
        fl.open(path)["d0"].reduce("sum", local=True)
    with pytest.raises(_core.DamagedFile, match="multiples of 5 below 17"):
        fl.open(path)["d0"].read()


def test_a_shuffle_filter_of_elements_of_no_bytes(tmp_path):
    """It was passed over: the bytes stayed as they were stored."""
    path = tmp_path / "t.h5"
    CASES["btree_packed"].write(path)
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"shuffle\0") + 8] = 0
    path.write_bytes(damaged)
    with pytest.raises(_core.DamagedFile, match="shuffle filter that makes no sense"):
        _core.open_file(str(path)).dataset("d0")


def test_one_variable_inside_of_another(tmp_path):
    """netCDF classic: variables lie one after the other, as the header lists them."""
    path = tmp_path / "t.nc"
    CASES["cdf1"].write(path)
    damaged = bytearray(path.read_bytes())
    at = damaged.index(struct.pack(">3i", 6, 8, 0)[:8]) + 8  # of "time": double, 8 bytes a record
    begin = struct.unpack_from(">i", damaged, at)[0]
    struct.pack_into(">i", damaged, at, begin + 4)
    path.write_bytes(damaged)
    with pytest.raises(_core.DamagedFile, match="behind the variable before it"):
        fl.open(path)


@pytest.mark.parametrize("layout", ["contiguous", "compact"])
@pytest.mark.parametrize("rows", [0, 3])
def test_a_shape_that_is_not_that_of_what_is_stored(tmp_path, layout, rows):
    """Fewer rows, or none, were read as if there were no more."""
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_layout(h5py.h5d.COMPACT if layout == "compact" else h5py.h5d.CONTIGUOUS)
        space = h5py.h5s.create_simple((7, 11))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, dcpl=create)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones((7, 11)))
    whole = path.read_bytes()
    assert float(fl.open(path)["x"].reduce("sum", local=True)) == 77
    shape = struct.pack("<QQ", 7, 11)
    at = whole.index(shape)
    damaged = bytearray(whole)
    damaged[at : at + 8] = struct.pack("<Q", rows)
    path.write_bytes(damaged)
    with pytest.raises(fl.DamagedFile, match="more bytes than elements"):
        fl.open(path)["x"].reduce("sum", local=True)
