"""JSON as recordings hold it."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from gristmill.errors import CorpusError, UnsafeCorpusError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot import documents
from gristmill.formats.lerobot.documents import parse, read_json, read_lines


def test_not_a_number_and_a_byte_order_mark_are_read() -> None:
    value, problem, lossy = parse(b"\xef\xbb\xbf" + b'{"mean": [NaN, Infinity, 1]}')
    assert problem is None
    assert not lossy
    assert math.isnan(value["mean"][0])
    assert value["mean"][1:] == [math.inf, 1]


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 100_000, b"1" * 10_000, b"{", b"", b"nul"])
def test_what_is_none_gives_a_reason(data: bytes) -> None:
    value, problem, _ = parse(data)
    assert value is None
    assert problem
    assert "\n" not in problem


def test_lines_with_their_place_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n\n[1]\n{"b": "\xff"}\n{"c"\n{"d": 4}')
    lines = list(read_lines(path))
    assert [(x.number, x.offset, x.value) for x in lines] == [
        (1, 0, {"a": 1}),
        (3, 10, None),
        (4, 14, {"b": "\ufffd"}),
        (5, 25, None),
        (6, 30, {"d": 4}),
    ]
    assert [x.lossy for x in lines] == [False, False, True, False, False]
    assert lines[1].problem == "expected an object, found list"


def test_files_larger_than_any_metadata_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENT_BYTES", 100)
    monkeypatch.setattr(documents, "MAX_LINE_BYTES", 100)
    path = tmp_path / "x.json"
    path.write_bytes(b'"' + b"x" * 200 + b'"')
    with pytest.raises(CorpusError, match="x has 202 bytes"):
        read_json(path, "x")
    (line,) = read_lines(path)
    assert line.problem == "longer than 100 bytes"


class TestFiles:
    """Paths confined to the corpus."""

    @pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "", "a\0b", "a/../b"])
    def test_paths_that_climb_are_unsafe(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(UnsafeCorpusError):
            CorpusFiles(tmp_path).path(path)

    def test_only_regular_files_have_a_stamp(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("abc")
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        files = CorpusFiles(tmp_path)
        stamp = files.stamp("file")
        assert stamp is not None
        assert stamp.size == 3
        assert [files.stamp(n) for n in ("folder", "pipe", "absent", "x" * 5000)] == [None] * 4

    def test_a_link_out_of_a_folder_that_was_safe_before(self, tmp_path: Path) -> None:
        (tmp_path / "outside").write_text("secret")
        root = tmp_path / "c"
        (root / "data").mkdir(parents=True)
        (root / "data" / "a").write_text("a")
        (root / "data" / "b").symlink_to(tmp_path / "outside")
        files = CorpusFiles(root)
        assert files.stamp("data/a") is not None
        with pytest.raises(UnsafeCorpusError, match="data/b is a link that leaves the corpus"):
            files.stamp("data/b")
        with pytest.raises(UnsafeCorpusError):
            files.under("data")

    def test_a_corpus_reached_by_a_link_is_fine(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "file").write_text("abc")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert CorpusFiles(tmp_path / "link").stamp("file") is not None

    def test_blobs_count_only_beside_a_snapshot(self, tmp_path: Path) -> None:
        """A folder of that name elsewhere, or one that is itself a link, lets nothing out."""
        (tmp_path / "blobs").mkdir()
        (tmp_path / "blobs" / "f").write_text("x")
        for parent in ("snapshots", "others"):
            root = tmp_path / parent / "c"
            root.mkdir(parents=True)
            (root / "f").symlink_to("../../blobs/f")
        assert CorpusFiles(tmp_path / "snapshots" / "c").stamp("f") is not None
        with pytest.raises(UnsafeCorpusError):
            CorpusFiles(tmp_path / "others" / "c").stamp("f")
        (tmp_path / "blobs" / "f").unlink()
        (tmp_path / "blobs").rmdir()
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc" / "f").write_text("secret")
        (tmp_path / "blobs").symlink_to(tmp_path / "etc")
        with pytest.raises(UnsafeCorpusError):
            CorpusFiles(tmp_path / "snapshots" / "c").stamp("f")

    def test_folders_nested_without_end_stop(self, tmp_path: Path) -> None:
        (tmp_path / "/".join("d" * 30)).mkdir(parents=True)
        with pytest.raises(CorpusError, match="more than 16 folders deep"):
            CorpusFiles(tmp_path).under("d")
