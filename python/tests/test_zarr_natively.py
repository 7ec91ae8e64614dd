# SPDX-License-Identifier: Apache-2.0
"""Folders of Zarr as C++ reads them, against what their own library says."""

import math
import pathlib

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr
from fluvial.store.zarr_file import open_zarr
from reading_files.climate import climate

from fluvial import _core

DTYPES = [*(f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)), "f2", "f4", "f8", "c8", "c16", "?"]
SEED = 20250611

CODECS = {
    2: [
        {"compressors": None},
        {"compressors": numcodecs.Zlib(3)},
        {"compressors": numcodecs.GZip(3)},
        {"compressors": numcodecs.Zstd(3)},
        {"compressors": numcodecs.Zstd(3), "filters": [numcodecs.Shuffle(4)]},
        {"compressors": numcodecs.Zlib(3), "filters": [numcodecs.Shuffle(8)], "order": "F"},
        {"compressors": None, "order": "F"},
    ],
    3: [
        {"compressors": None},
        {"compressors": zarr.codecs.GzipCodec()},
        {"compressors": zarr.codecs.ZstdCodec(checksum=True)},
        {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
        {"compressors": None, "filters": [zarr.codecs.TransposeCodec(order=(1, 2, 0))]},
        {
            "compressors": zarr.codecs.GzipCodec(),
            "filters": [
                zarr.codecs.TransposeCodec(order=(1, 2, 0)),
                zarr.codecs.TransposeCodec(order=(0, 2, 1)),
            ],
        },
        {
            "serializer": zarr.codecs.BytesCodec(endian="big"),
            "compressors": zarr.codecs.GzipCodec(),
        },
    ],
}


@pytest.fixture(params=[2, 3])
def version(request):
    return request.param


def equal(mine, theirs):
    np.testing.assert_array_equal(mine, theirs)
    assert mine.dtype == theirs.dtype


def check_array(mine, theirs, random):
    for said in ("name", "dtype", "shape", "dimensions"):
        assert getattr(mine, said) == getattr(theirs, said), said
    np.testing.assert_equal(mine.attributes, theirs.attributes)
    assert mine.layout["kind"] == "chunked"
    for _ in range(8):
        start = [int(random.integers(0, n + 1)) for n in mine.shape]
        count = [int(random.integers(0, n - b + 1)) for n, b in zip(mine.shape, start, strict=True)]
        equal(mine.read(start, count), theirs.read(start, count))
    none = [0] * len(mine.shape)
    equal(mine.read(none, mine.shape), theirs.read(none, mine.shape))


def check(path):
    """All that C++ says of a folder is what the library says; return the file."""
    mine, theirs = _core.open_file(str(path)), open_zarr(str(path))
    assert mine.format == theirs.format
    np.testing.assert_equal(mine.attributes, theirs.attributes)
    assert sorted(mine.names) == sorted(theirs.names)
    assert sorted(mine.groups) == sorted(theirs.groups)
    assert sorted(mine.dimensions) == sorted(theirs.dimensions)
    assert set(mine.unreadable) == set(theirs.unreadable)
    for group in mine.groups:
        np.testing.assert_equal(mine.group_attributes(group), theirs.group_attributes(group))
    random = np.random.default_rng(SEED)
    for name in set(mine.names) - set(mine.unreadable):
        check_array(mine.dataset(name), theirs.dataset(name), random)
    return mine


@pytest.mark.parametrize("number", range(7))
def test_codecs_and_uneven_chunks(tmp_path, version, number):
    random = np.random.default_rng(SEED)
    root = zarr.create_group(tmp_path / "c.zarr", zarr_format=version)
    how = CODECS[version][number]
    for dtype in ("i2", "f4", "f8"):
        values = (random.normal(size=(7, 9, 11)) * 1000).astype(dtype)
        root.create_array(dtype, data=values, chunks=(3, 4, 11), **how)
        root.create_array(f"{dtype}_one", data=values, chunks=(9, 9, 12), **how)
    assert len(check(tmp_path / "c.zarr").names) == 6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", "<>")
def test_dtypes_and_byte_orders(tmp_path, version, dtype, order):
    random = np.random.default_rng(SEED)
    root = zarr.create_group(tmp_path / "d.zarr", zarr_format=version)
    kind = np.dtype(dtype)
    big = {"little": "<", "big": ">"}
    for shape in [(), (1,), (5,), (3, 0, 2), (4, 6, 5)]:
        values = np.frombuffer(random.bytes(kind.itemsize * math.prod(shape)), "u1")
        values = (values % 2 if kind.kind == "b" else values).view(kind).reshape(shape)
        name = "x".join(map(str, shape)) or "scalar"
        if version == 2:
            stored = kind.newbyteorder(order)
            root.create_array(name, data=values.astype(stored), compressors=None)
        else:
            endian = next(word for word, sign in big.items() if sign == order)
            serializer = zarr.codecs.BytesCodec(endian=endian)
            root.create_array(name, data=values, serializer=serializer)
    check(tmp_path / "d.zarr")


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("f4", np.nan),
        ("f8", -np.inf),
        ("f2", 1.5),
        ("i8", -(2**63)),
        ("u8", 2**64 - 1),
        ("i1", -7),
        ("c8", 1 - 2j),
        ("c16", complex(np.nan, np.inf)),
        ("?", True),
        ("f8", 0.1),
    ],
)
def test_chunks_that_are_missing_are_the_fill_value(tmp_path, version, dtype, fill):
    array = zarr.create_array(
        tmp_path / "f.zarr",
        shape=(10, 6),
        chunks=(4, 4),
        dtype=dtype,
        fill_value=fill,
        zarr_format=version,
        config={"write_empty_chunks": True},
    )
    array[4:6] = 1
    file = check(tmp_path / "f.zarr")
    assert file.names == ["data"]
    dataset = file.dataset("data")
    assert dataset.is_stored([4, 0], [4, 6])
    assert not dataset.is_stored([3, 0], [4, 6])


@pytest.mark.parametrize("separator", "./")
def test_chunk_keys(tmp_path, version, separator):
    values = np.arange(60.0).reshape(6, 10)
    key = {"name": "v2" if version == 2 else "default", "separator": separator}
    zarr.create_array(
        tmp_path / "k.zarr", data=values, chunks=(4, 3), zarr_format=version, chunk_key_encoding=key
    )
    check(tmp_path / "k.zarr")
    if version == 3:
        zarr.create_array(
            tmp_path / "k2.zarr",
            data=values,
            chunks=(4, 3),
            chunk_key_encoding={"name": "v2", "separator": separator},
        )
        check(tmp_path / "k2.zarr")


@pytest.mark.parametrize("inner", ["lz4", "lz4hc", "blosclz", "zlib", "zstd"])
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc(tmp_path, version, inner, shuffle):
    words = ["noshuffle", "shuffle", "bitshuffle"]
    codec = (
        numcodecs.Blosc(inner, shuffle=words.index(shuffle))
        if version == 2
        else zarr.codecs.BloscCodec(cname=inner, shuffle=shuffle)
    )
    values = np.random.default_rng(SEED).integers(0, 9, (50, 90)).astype("f4")
    array = zarr.create_array(
        tmp_path / "b.zarr", data=values, chunks=(20, 40), compressors=codec, zarr_format=version
    )
    if _core.open_file(str(tmp_path / "b.zarr")).unreadable:
        pytest.skip("this build has no c-blosc")
    file = check(tmp_path / "b.zarr")
    chunk = tmp_path / "b.zarr" / array.metadata.encode_chunk_key((1, 1))
    whole = chunk.read_bytes()
    for broken in (b"", whole[:9], whole[:-1], whole + b"x", b"\2" * len(whole)):
        chunk.write_bytes(broken)
        with pytest.raises(_core.DamagedFile, match=r"\(filter blosc\): got"):
            file.dataset("data").read([20, 40], [20, 40])


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("codec", [None, zarr.codecs.ZstdCodec(), zarr.codecs.GzipCodec()])
def test_shards(tmp_path, location, codec):
    random = np.random.default_rng(SEED)
    values = random.integers(0, 99, (13, 20, 7)).astype("i2")
    values[4:8, 5:10] = 0  # these chunks are left out of their shard
    how = {"compressors": codec, "config": {"write_empty_chunks": False}}
    array = zarr.create_array(
        tmp_path / "s.zarr",
        data=values,
        chunks=(2, 5, 7),
        shards={"shape": (4, 10, 14), "index_location": location},
        **how,
    )
    file = check(tmp_path / "s.zarr")
    dataset = file.dataset("data")
    assert dataset.layout["chunk"] == (2, 5, 7)
    assert not dataset.is_stored([4, 5, 0], [4, 5, 7])
    assert dataset.is_stored([8, 5, 0], [4, 5, 7])
    shard = tmp_path / "s.zarr" / array.metadata.encode_chunk_key((2, 1, 0))
    whole = shard.read_bytes()
    index = 16 * 8 + 4
    at = 0 if location == "start" else len(whole) - index
    changed = bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]])
    for broken in (b"", whole[:100], whole[:-1], changed):
        shard.write_bytes(broken)
        damaged = _core.open_file(str(tmp_path / "s.zarr")).dataset("data")
        with pytest.raises(_core.DamagedFile, match=r"chunk \(\d, \d, 0\) of 'data'.*c/2/1/0'"):
            damaged.read([8, 10, 0], [4, 10, 7])
    shard.unlink()
    assert (
        not _core.open_file(str(tmp_path / "s.zarr"))
        .dataset("data")
        .read([8, 10, 0], [4, 10, 7])
        .any()
    )


def test_a_chunk_that_joins_its_shard_is_found(tmp_path):
    """zarr makes a shard anew to add a chunk: the places of the others change with it."""
    array = zarr.create_array(
        tmp_path / "s.zarr", name="data", shape=(8,), dtype="i4", chunks=(2,), shards=(8,)
    )
    array[2:4] = [3, 4]
    dataset = _core.open_file(str(tmp_path / "s.zarr")).dataset("data")
    np.testing.assert_array_equal(dataset.read([0], [8]), [0, 0, 3, 4, 0, 0, 0, 0])
    assert not dataset.is_stored([0], [2])
    array[0:2] = [1, 2]
    assert dataset.is_stored([0], [2])
    np.testing.assert_array_equal(dataset.read([0], [8]), [1, 2, 3, 4, 0, 0, 0, 0])


@pytest.mark.parametrize("consolidated", [False, True])
def test_what_python_alone_writes_in_attributes_keeps_no_array_from_being_read(
    tmp_path, version, consolidated
):
    nested = [1]
    for _ in range(80):
        nested = [nested]
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    for name, value in {"large": 10**400, "half": "\udcff", "nested": nested}.items():
        array = group.create_array(name, shape=(3,), dtype="i4", compressors=None)
        array[:] = 7
        array.attrs[name] = value
    if consolidated:
        zarr.consolidate_metadata(tmp_path / "g.zarr")
    file = _core.open_file(str(tmp_path / "g.zarr"))
    for name in ("large", "half", "nested"):
        np.testing.assert_array_equal(file.dataset(name).read([0], [3]), [7, 7, 7])


@pytest.mark.parametrize("consolidated", [False, True])
def test_groups_attributes_and_what_cannot_be_read(tmp_path, version, consolidated):
    path = tmp_path / "g.zarr"
    attributes = {
        "text": 'é "quoted" \n',
        "truth": True,
        "whole": -5,
        "large": 2**64 - 1,
        "real": 1e300,
        "missing": float("nan"),
        "numbers": [1, 2, 3],
        "mixed": [1, 2.5],
        "beyond": [1, 2**63],
        "texts": ["a", "b"],
        "none": None,
        "tree": {"multiscales": [{"axes": ["y", "x"], "scale": 1.0, "deep": {"é": None}}]},
        "empty": [],
    }
    root = zarr.create_group(path, zarr_format=version, attributes=attributes)
    values = np.arange(48.0).reshape(6, 8)
    dims = {"dimension_names": ("y", "x")} if version == 3 else {}
    below = root.create_group("deep").create_group("er")
    below.attrs["units"] = "m"
    for group in (root, below):
        part = values[:, : 8 if group is root else 5]
        array = group.create_array("t", data=part, compressors=None, **dims)
        array.attrs.update({"_ARRAY_DIMENSIONS": ["y", "x"]} if version == 2 else {"units": "K"})
    root.create_array("words", data=np.array(["a", "b"]))
    blosc = numcodecs.Blosc("lz4") if version == 2 else zarr.codecs.BloscCodec()
    root.create_array("packed", data=values, compressors=blosc)
    delta = [numcodecs.Delta("f8")] if version == 2 else None
    if delta:
        root.create_array("differences", data=values, filters=delta)
    if consolidated:
        zarr.consolidate_metadata(path)
    mine, theirs = _core.open_file(str(path)), open_zarr(str(path))
    assert mine.attributes.keys() == theirs.attributes.keys() == attributes.keys()
    np.testing.assert_equal(mine.attributes, theirs.attributes)
    assert mine.groups == theirs.groups == ["deep", "deep/er"]
    assert mine.group_attributes("deep/er") == {"units": "m"}
    assert sorted(mine.dimensions) == sorted(theirs.dimensions)
    assert mine.names == sorted(theirs.names)
    random = np.random.default_rng(SEED)
    for name in ("t", "deep/er/t"):
        check_array(mine.dataset(name), theirs.dataset(name), random)
    assert set(mine.unreadable) - {"packed"} == ({"differences"} if delta else set())
    if "packed" in mine.unreadable:  # this build has no c-blosc
        said = r"'packed' of .*codec 'blosc'.*-DFLUVIAL_BLOSC=ON.*fluvial\.open"
        with pytest.raises(_core.InvalidArgument, match=said):
            mine.dataset("packed")
    else:
        check_array(mine.dataset("packed"), theirs.dataset("packed"), random)
    with pytest.raises(_core.InvalidArgument, match="cannot compute on 'words'"):
        mine.dataset("words")
    with pytest.raises(_core.InvalidArgument, match="Did you mean 't'"):
        mine.dataset("tt")


def test_what_xarray_writes(tmp_path, version):
    packing = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.0, "_FillValue": -32768}
    codec = numcodecs.Zstd() if version == 2 else zarr.codecs.ZstdCodec()
    how = {"compressors": (codec,)}
    dataset = climate()
    dataset["temperature"][3, 0, 2, 1] = np.nan
    for variable in dataset.variables.values():
        variable.encoding = {}
    encoding = {name: dict(how) for name in dataset.variables}
    encoding["temperature"] |= {"_FillValue": -999.0, "chunks": (5, 2, 7, 8)}
    encoding["packed"] |= packing
    dataset.to_zarr(tmp_path / "t.zarr", zarr_format=version, encoding=encoding, consolidated=True)
    file = check(tmp_path / "t.zarr")
    assert "temperature" in file.names
    assert xr.open_zarr(tmp_path / "t.zarr").sizes == {
        name: length for name, length, _ in file.dimensions
    }


def test_a_link_into_its_own_folder_is_refused(tmp_path):
    zarr.create_group(tmp_path / "l.zarr").create_group("a")
    (tmp_path / "l.zarr" / "a" / "again").symlink_to(tmp_path / "l.zarr")
    file = _core.open_file(str(tmp_path / "l.zarr"))
    assert "link to a folder that it is in" in file.unreadable["a/again"]


def test_paths_of_consolidated_metadata_stay_inside(tmp_path):
    (tmp_path / "p.zarr").mkdir()
    group = '{"zarr_format": 2}'
    for name in ("../x", "a/../../x", "/x", "a//x", "."):
        (tmp_path / "p.zarr" / ".zmetadata").write_text(
            f'{{"metadata": {{".zgroup": {group}, "{name}/.zgroup": {group}}}}}'
        )
        with pytest.raises(_core.DamagedFile, match=r"p\.zarr/\.zmetadata' cannot be read"):
            _core.open_file(str(tmp_path / "p.zarr"))


def test_an_array_that_is_damaged_leaves_others_readable(tmp_path, version):
    root = zarr.create_group(tmp_path / "m.zarr", zarr_format=version)
    for name in ("a", "b"):
        root.create_array(name, data=np.arange(6.0), compressors=None, chunks=4)
    mark = pathlib.Path(tmp_path, "m.zarr", "a", ".zarray" if version == 2 else "zarr.json")
    whole = mark.read_bytes()
    for length in range(0, len(whole), 7):
        mark.write_bytes(whole[:length])
        file = _core.open_file(str(tmp_path / "m.zarr"))
        assert file.names == ["a", "b"]
        with pytest.raises(_core.DamagedFile, match="'a' of") as caught:
            file.dataset("a")
        assert mark.name in str(caught.value)
        assert file.dataset("b").read([0], [6]).tolist() == [0, 1, 2, 3, 4, 5]
