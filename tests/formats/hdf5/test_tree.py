"""Walking a file: links, depth, what is neither group nor dataset; reading parts of datasets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest

from gristmill.errors import RecordingError, UnsafeCorpusError
from gristmill.formats.hdf5 import datasets, tree


@pytest.fixture
def file(tmp_path: Path):
    with h5py.File(tmp_path / "file.hdf5", "w") as made:
        yield made


def test_what_there_is_and_is_not(file: h5py.File) -> None:
    file["a/b/c"] = np.arange(3)
    file["type"] = np.dtype("f8")
    top = file["/"].id
    assert isinstance(tree.find(top, "a/b", "x"), tree.Group)
    assert isinstance(tree.find(top, "/a/./b/c", "x"), tree.Dataset)
    for absent in ("a/z", "a/b/c/d", "type", "a/../a"):
        assert tree.find(top, absent, "x") is None
    assert [path for path, _ in tree.datasets(top, "x")] == ["a/b/c"]
    assert [name for name, _ in tree.members(top, "x")] == ["a"]


def test_links_whose_number_of_ways_explodes(file: h5py.File) -> None:
    """Each link goes twice through the one before: following all of them would take 2 ** 40 steps."""
    file.create_group("g")
    file["g/l0"] = h5py.SoftLink("/g")
    for i in range(1, 40):
        file[f"g/l{i}"] = h5py.SoftLink(f"/g/l{i - 1}/l{i - 1}")
    with pytest.raises(UnsafeCorpusError, match="leads in a circle"):
        tree.find(file["/"].id, "g/l39", "x")


def test_groups_whose_number_of_ways_explodes(file: h5py.File) -> None:
    """Each group holds the next one a hundred times."""
    groups = [file.create_group(f"group_{i}") for i in range(8)]
    for outer, inner in pairwise(groups):
        for i in range(100):
            outer[f"way_{i}"] = inner
    with pytest.raises(UnsafeCorpusError, match="without an end"):
        list(tree.datasets(groups[0].id, "x"))


def test_a_dangling_link_is_nothing(file: h5py.File) -> None:
    file["gone"] = h5py.SoftLink("/nowhere")
    assert tree.find(file["/"].id, "gone", "x") is None
    assert tree.members(file["/"].id, "x") == []


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i2", "u1", "?", "f2", ">f8"])
def test_parts_of_datasets_in_native_order(file: h5py.File, dtype: str) -> None:
    values = (np.arange(60).reshape(20, 3) % 2 if dtype == "?" else np.arange(60).reshape(20, 3)).astype(dtype)
    file.create_dataset("plain", data=values)
    file.create_dataset("packed", data=values, chunks=(7, 2), compression="gzip", shuffle=True)
    for name in ("plain", "packed"):
        stored = datasets.describe(file[name].id, name)
        assert (stored.shape, stored.kind, stored.why, stored.written) == ((20, 3), "numbers", "", True)
        for start, stop in ((0, 20), (3, 11), (19, 20), (5, 5)):
            read = datasets.values(file[name].id, stored, name, (start, stop))
            np.testing.assert_array_equal(read, values[start:stop])
            assert read.dtype.isnative
        whole = datasets.whole(file["/"].id, name, stored.dtype.name, 20, 3, name)
        np.testing.assert_array_equal(whole, values)
        np.testing.assert_array_equal(datasets.whole(file["/"].id, name, stored.dtype.name, 9, 3, name), values[:9])


def test_a_dataset_that_is_not_as_it_was(file: h5py.File) -> None:
    file["a"] = np.zeros((5, 3))
    for rows, width in ((6, 3), (5, 4)):
        with pytest.raises(RecordingError, match="a changed while it was read"):
            datasets.whole(file["/"].id, "a", "float64", rows, width, "a")
    with pytest.raises(RecordingError, match="b cannot be read"):
        datasets.whole(file["/"].id, "b", "float64", 5, 3, "b")


def test_a_filter_that_is_not_installed(file: h5py.File) -> None:
    file.create_dataset("a", data=np.zeros((50, 3)), chunks=(10, 3), compression="gzip")
    assert datasets.describe(file["a"].id, "a").why == ""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((10, 3))
    plist.set_filter(32767, h5py.h5z.FLAG_OPTIONAL)
    space = h5py.h5s.create_simple((50, 3))
    made = h5py.h5d.create(file.id, b"b", h5py.h5t.IEEE_F64LE, space, plist)
    assert "filter 32767, which is not installed" in datasets.describe(made, "b").why


def test_values_that_are_broken_inside(tmp_path: Path) -> None:
    path = tmp_path / "file.hdf5"
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        made = file.create_dataset("a", data=rng.normal(size=(500, 8)), chunks=(500, 8), compression="gzip")
        offset = made.id.get_chunk_info(0).byte_offset
    data = bytearray(path.read_bytes())
    data[offset + 100 : offset + 2000] = bytes(1900)
    path.write_bytes(data)
    with h5py.File(path, "r") as file:
        with pytest.raises(RecordingError, match="the actions cannot be read"):
            datasets.whole(file["/"].id, "a", "float64", 500, 8, "the actions")
        stored = datasets.describe(file["a"].id, "a")
        with pytest.raises(RecordingError, match="the actions cannot be read"):
            datasets.values(file["a"].id, stored, "the actions")
