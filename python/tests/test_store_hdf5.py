# SPDX-License-Identifier: Apache-2.0
"""HDF5 files that h5py wrote: what Fluvial reads is what h5py reads."""

import h5py
import numpy as np
import pytest
from fluvial._core import DamagedFile, InvalidArgument, open_file
from harness.file_datasets import check_dataset, check_file

FIELD = np.linspace(250, 310, 7 * 50 * 33, dtype="f4").reshape(7, 50, 33)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.h5"


def written(path, data, **how):
    with h5py.File(path, "w", libver=how.pop("libver", None)) as file:
        file.create_dataset("x", data=data, **how)
    return check_file(path, "x", data)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
)
@pytest.mark.parametrize("how", [{}, {"chunks": (4, 5), "compression": "gzip", "shuffle": True}])
def test_every_dtype_in_both_byte_orders(path, order, dtype, how):
    dtype = order + dtype
    data = (np.arange(10 * 13).reshape(10, 13) * 1.37 - 20).astype("f8")
    if "u" in dtype:
        data = np.abs(data)
    data = (data * (1 + 2j) if "c" in dtype else data).astype(dtype)
    layout = written(path, data, **how).layout
    assert layout["kind"] == ("chunked" if how else "affine")
    assert layout["swapped"] == (dtype[0] == ">" and np.dtype(dtype).itemsize > 1)


@pytest.mark.parametrize("libver", [("earliest", "v108"), ("v110", "v110")])
@pytest.mark.parametrize(
    ("how", "filters"),
    [
        ({}, ()),
        ({"compression": "gzip", "compression_opts": 1}, ("deflate",)),
        ({"compression": "gzip", "compression_opts": 9, "shuffle": True}, ("shuffle", "deflate")),
        ({"shuffle": True}, ("shuffle",)),
        ({"fletcher32": True}, ("fletcher32",)),
        (
            {"compression": "gzip", "shuffle": True, "fletcher32": True},
            ("shuffle", "deflate", "fletcher32"),
        ),
    ],
)
@pytest.mark.parametrize("maxshape", [None, (None, 50, 33), (None, None, 33)])
def test_chunks_with_edges_of_every_index_and_filter(path, libver, how, filters, maxshape):
    layout = written(
        path, FIELD, libver=libver, chunks=(2, 16, 20), maxshape=maxshape, **how
    ).layout
    assert layout["kind"] == "chunked"
    assert layout["chunk"] == (2, 16, 20)
    assert tuple(f if isinstance(f, str) else f["kind"] for f in layout["filters"]) == filters


def test_chunks_as_long_as_the_data_and_longer(path):
    written(path, FIELD, chunks=FIELD.shape, compression="gzip", libver=("v110", "v110"))
    path.unlink()
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", (3, 3), "f4", chunks=(8, 8), maxshape=(None, None))
        x[:] = 5
    check_file(path, "x", np.full((3, 3), 5, "f4"))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"scaleoffset": 2, "chunks": (2, 16, 20)}, "filter 6"),
        ({"compression": "szip", "chunks": (2, 16, 20)}, "filter 4"),
    ],
)
def test_what_only_libhdf5_can_decode(path, how, why):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=FIELD, **how)
    with h5py.File(path) as file:
        expected = file["x"][:]
    layout = check_file(path, "x", expected).layout
    assert layout["kind"] == "by library"
    assert why in layout["why"]
    assert layout["granule"] == (2, 16, 20)


def test_a_filter_that_this_libhdf5_lacks_is_named(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=FIELD, compression="lzf", chunks=True)
    dataset = open_file(str(path)).dataset("x")
    assert "32000" in dataset.layout["why"]
    try:
        check_dataset(dataset, FIELD)  # where HDF5's plugin for it is installed
    except InvalidArgument as error:
        assert "32000" in str(error)
        assert "HDF5_PLUGIN_PATH" in str(error)


def test_compact_virtual_and_external_data_go_through_libhdf5(path, tmp_path):
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((5,))
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, space, plist)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="i4"))
        outside = [(str(tmp_path / "outside.bin"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("external", data=np.arange(12.0), external=outside)
        file.create_dataset("part", data=np.arange(6.0))
        layout = h5py.VirtualLayout((2, 6), "f8")
        layout[0] = h5py.VirtualSource(file["part"])
        file.create_virtual_dataset("virtual", layout, fillvalue=-1)
    check_file(path, "compact", np.arange(5, dtype="i4"))
    check_file(path, "external", np.arange(12.0))
    virtual = check_file(path, "virtual", np.stack([np.arange(6.0), np.full(6, -1.0)]))
    for name, why in (("compact", "compact"), ("external", "other files"), ("virtual", "virtual")):
        assert why in open_file(str(path)).dataset(name).layout["why"]
    assert virtual.layout["kind"] == "by library"


def test_a_virtual_dataset_over_other_files(tmp_path):
    layout = h5py.VirtualLayout((3, 4), "i4")
    for i in range(3):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            file["x"] = np.arange(4, dtype="i4") + 10 * i
        layout[i] = h5py.VirtualSource(tmp_path / f"{i}.h5", "x", shape=(4,))
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file.create_virtual_dataset("x", layout)
    expected = np.arange(4, dtype="i4") + 10 * np.arange(3, dtype="i4")[:, None]
    check_file(tmp_path / "all.h5", "x", expected)


def test_chunks_and_arrays_that_were_never_written_are_fill_value(path):
    with h5py.File(path, "w") as file:
        some = file.create_dataset("some", (100, 40), ">f4", chunks=(30, 7), fillvalue=-9.5)
        some[20:50, 3:9] = 1
        file.create_dataset("chunked", (100, 40), "i2", chunks=(30, 7))
        file.create_dataset("contiguous", (100, 40), ">i4", fillvalue=7)
        file.create_dataset("huge", (1 << 40,), "f8", fillvalue=np.nan)
    with h5py.File(path) as file:
        for name in ("some", "chunked", "contiguous"):
            check_file(path, name, file[name][:])
    huge = open_file(str(path)).dataset("huge")
    assert np.isnan(huge.read((1 << 39,), (5,))).all()


def test_filter_masks_of_single_chunks(path):
    data = np.arange(64, dtype="i4").reshape(4, 16)
    with h5py.File(path, "w") as file:
        x = file.create_dataset(
            "x", data=data, chunks=(1, 16), compression="gzip", shuffle=True, fletcher32=True
        )
        # Bits 0 to 2 leave out shuffle, deflate, fletcher32; h5py reads the same.
        x.id.write_direct_chunk((1, 0), (data[1] * 2).tobytes(), filter_mask=7)
        mask, chunk = x.id.read_direct_chunk((2, 0))
        x.id.write_direct_chunk((2, 0), chunk[:-4], filter_mask=mask | 4)
    with h5py.File(path) as file:
        expected = file["x"][:]
    assert (expected[1] == 2 * data[1]).all()
    check_file(path, "x", expected)


@pytest.mark.parametrize("block", [512, 1024, 8192])
def test_a_user_block_moves_all_addresses(path, block):
    with h5py.File(path, "w", userblock_size=block) as file:
        file["contiguous"] = FIELD
        file.create_dataset("chunked", data=FIELD, chunks=(2, 16, 20), compression="gzip")
        file["g/scale"] = np.arange(50.0)
        file["g/scale"].make_scale("y")
        file["contiguous"].dims[1].attach_scale(file["g/scale"])
    with path.open("r+b") as raw:
        raw.write(b"#!/bin/sh\n")
    check_file(path, "chunked", FIELD)
    assert check_file(path, "contiguous", FIELD).dimensions == ["", "scale", ""]


def test_shapes_that_grew_and_shrank(path):
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=FIELD, chunks=(2, 16, 20), maxshape=(None, None, None))
        x.resize((9, 21, 40))
        x[8] = 3
    with h5py.File(path) as file:
        check_file(path, "x", file["x"][:])


def test_scalars_and_empty_arrays(path):
    with h5py.File(path, "w") as file:
        file["scalar"] = np.float32(2.5)
        file["none"] = np.zeros((0, 5))
        file.create_dataset("growing", (0, 5), "i4", maxshape=(None, 5))
        file["null"] = h5py.Empty("f4")
    check_file(path, "scalar", np.float32(2.5))
    check_file(path, "none", np.zeros((0, 5)))
    check_file(path, "growing", np.zeros((0, 5), "i4"))
    with pytest.raises(InvalidArgument, match="null dataspace"):
        open_file(str(path)).dataset("null")


def test_booleans_are_int8(path):
    data = np.arange(20) % 3 == 0
    with h5py.File(path, "w") as file:
        file["x"] = data
        file.create_dataset("y", data=data, chunks=(7,), compression="gzip")
    check_file(path, "x", data.astype("i1"))
    check_file(path, "y", data.astype("i1"))


def test_what_has_no_dtype_is_not_listed_and_says_why(path):
    with h5py.File(path, "w") as file:
        file["text"] = "hello"
        file["table"] = np.zeros(3, [("a", "i4"), ("b", "f8")])
        file["colour"] = h5py.Empty("f4")
        file.create_dataset("enum", (3,), h5py.enum_dtype({"A": 0, "B": 1}))
        file.create_dataset("many", (1,) * 20, "f4")
        file.create_dataset("x86", (3,), np.longdouble)
        file["fine"] = [1.0]
    file = open_file(str(path))
    assert file.names == ["fine"]
    for name, why in (
        ("text", "text"),
        ("table", "compound"),
        ("enum", "enumeration"),
        ("many", "dimensions"),
        ("x86", "floating-point"),
    ):
        with pytest.raises(InvalidArgument, match=why):
            file.dataset(name)
    with pytest.raises(InvalidArgument, match="'fine'"):
        file.dataset("absent")
    with pytest.raises(InvalidArgument):
        file.dataset("")
    with pytest.raises(InvalidArgument):
        file.dataset("fine/deeper")


def test_groups_links_and_cycles(path, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = [3.0]
    with h5py.File(path, "w") as file:
        file["a/b/x"] = np.arange(3.0)
        file["a/loop"] = file["a"]
        file["a/b/up"] = file["/"]
        file["alias"] = h5py.SoftLink("/a/b")
        file["soft"] = h5py.SoftLink("/a/b/x")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["self"] = h5py.SoftLink("/self")
        file["outside"] = h5py.ExternalLink("other.h5", "/x")
        file["beyond"] = h5py.SoftLink("/outside")
        file["second"] = file["a/b/x"]
    file = open_file(str(path))
    assert file.names == ["a/b/x", "second", "soft"]
    for name in (*file.names, "alias/x", "/a/b/x", "a/loop/loop/b/x", "a/b/up/second"):
        check_dataset(file.dataset(name), np.arange(3.0))
    for name in ("outside", "beyond", "dangling", "self", "a"):
        with pytest.raises(InvalidArgument, match="no such dataset"):
            file.dataset(name)


def test_names_come_in_the_order_of_creation_where_the_file_knows_it(path):
    for track, names in ((True, ["z", "a", "m"]), (False, ["a", "m", "z"])):
        with h5py.File(path, "w", track_order=track) as file:
            for name in ("z", "a", "m"):
                file[name] = [1.0]
        assert open_file(str(path)).names == names


def test_many_paths_to_one_group_are_one_visit(path):
    with h5py.File(path, "w") as file:
        group = file
        for level in range(60):  # 2 to the 60th paths
            inner = group.create_group(f"a{level}")
            group[f"b{level}"] = inner
            group = inner
        group["x"] = [1.0]
    assert len(open_file(str(path)).names) == 1


def test_attributes(path):
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "größer"
        x = file.create_dataset("x", data=[1.0])
        x.attrs.update({"units": "K", "count": np.int16(-3), "scale": np.float32(0.5)})
        x.attrs["fixed"] = np.bytes_(b"fixed")
        x.attrs["numbers"] = np.arange(4, dtype=">i2")
        x.attrs["one"] = np.array([4.5], ">f4")
        x.attrs["words"] = ["a", "bc"]
        x.attrs["fixed words"] = np.array([b"a", b"bcd"])
        x.attrs["big"] = np.uint64(2**64 - 1)
        x.attrs["yes"] = True
        x.attrs["complex"] = 1 + 2j
        x.attrs["empty"] = h5py.Empty("f4")
        x.attrs["CLASS"] = "kept, since this is no dimension scale"
        x.attrs.create("none", [], dtype="f8")
    file = open_file(str(path))
    assert file.attributes == {"title": "größer"}
    assert file.dataset("x").attributes == {
        "units": "K",
        "count": -3,
        "scale": 0.5,
        "fixed": "fixed",
        "numbers": [0, 1, 2, 3],
        "one": 4.5,
        "words": ["a", "bc"],
        "fixed words": ["a", "bcd"],
        "big": 2**64 - 1,
        "yes": True,
        "CLASS": "kept, since this is no dimension scale",
        "none": [],
    }


def test_labels_and_scales_of_h5py(path):
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=FIELD)
        x.dims[0].label = "time"
        x.dims[2].label = "lon"
        y = file.create_dataset("y", data=FIELD)
        file["lat"] = np.arange(50.0)
        file["lat"].make_scale("latitude")
        y.dims[1].attach_scale(file["lat"])
    file = open_file(str(path))
    assert file.format == "HDF5"
    assert file.dataset("x").dimensions == ["time", "", "lon"]
    assert file.dataset("y").dimensions == ["", "lat", ""]
    assert file.dataset("lat").dimensions == ["lat"]
    assert file.dimensions == [("lat", 50, False)]
    assert file.dataset("lat").attributes == {}


def test_not_hdf5(path):
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(DamagedFile, match="HDF5"):
        open_file(str(path))


@pytest.mark.parametrize("width", [2, 4, 8])
def test_short_addresses_and_lengths(path, width):
    properties = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    properties.set_sizes(width, width)
    data = np.arange(5.0)
    with h5py.File(h5py.h5f.create(str(path).encode(), fcpl=properties)) as file:
        file["x"] = data
        file["x"].attrs["units"] = "Kelvin"
        file["x"].attrs["names"] = ["a", "bcd"]
    dataset = check_file(path, "x", data)
    assert dataset.attributes == {"units": "Kelvin", "names": ["a", "bcd"]}


@pytest.mark.parametrize("widths", [(4, 4), (8, 4), (4, 8)])
def test_older_indices_of_chunks_with_short_addresses(path, widths):
    properties = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    properties.set_sizes(*widths)
    data = np.arange(5000.0).reshape(50, 100)
    with h5py.File(h5py.h5f.create(str(path).encode(), fcpl=properties)) as file:
        file.create_dataset("x", data=data, chunks=(3, 4), compression=1)
    check_file(path, "x", data)


def test_older_indices_of_chunks_behind_a_user_block(path):
    data = np.arange(5000.0).reshape(50, 100)
    with h5py.File(path, "w", libver="earliest", userblock_size=1024) as file:
        file.create_dataset("x", data=data, chunks=(3, 4))
    check_file(path, "x", data)


def test_older_indices_of_chunks_that_shrank_and_grew(path):
    with h5py.File(path, "w", libver="earliest") as file:
        x = file.create_dataset(
            "x", (50, 100), "f4", chunks=(3, 4), maxshape=(None, None), fillvalue=7
        )
        x[10:20, 30:40] = 1
        x.resize((30, 35))
        x.resize((60, 80))
        x[55:] = 3
        x.resize((57, 41))
        data = x[...]
    check_file(path, "x", data)
