"""Opening files: what is one, what is wrong with one, and telling layouts apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import made_hdf5 as made
import numpy as np
import pytest

from gristmill.errors import CorpusError
from gristmill.formats.hdf5.kinds import layout_of
from gristmill.formats.hdf5.opening import PaddedFile, has_magic, open_file


def test_a_padded_file_reads_zeros_behind_its_end(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(bytes(range(1, 101)))
    with PaddedFile(tmp_path / "cut", 150) as file:
        assert file.seek(0, 2) == 150
        file.seek(90)
        assert file.read(10) == bytes(range(91, 101))
        assert not file.beyond
        file.seek(95)
        assert file.read(20) == bytes(range(96, 101)) + bytes(15)
        assert file.beyond
        assert file.tell() == 115


def test_a_heap_that_was_cut_is_no_heap(tmp_path: Path) -> None:
    """Its missing rest would read as zeros, through which HDF5 walks for ever."""
    start = b"GCOL\x01\0\0\0" + (4096).to_bytes(8, "little")
    (tmp_path / "cut").write_bytes(start)
    with PaddedFile(tmp_path / "cut", 4096) as file:
        assert file.read(4096) == bytes(8) + start[8:] + bytes(4080)


def test_the_signature_may_stand_behind_a_user_block(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "file", "w", userblock_size=1024) as file:
        file["a"] = np.arange(5)
    assert (tmp_path / "file").read_bytes()[:8] != b"\x89HDF\r\n\x1a\n"
    assert has_magic(tmp_path / "file")
    opened = open_file(tmp_path / "file", "file")
    assert opened.file["a"][()].tolist() == [0, 1, 2, 3, 4]  # type: ignore[index]
    opened.close()
    opened.close()
    assert not has_magic(tmp_path / "absent")
    assert not has_magic(tmp_path)


def test_a_file_whose_writer_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "file.hdf5"
    code = (
        "import h5py, os, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); f['data/demo_0/actions'] = [1.0]; "
        "f.flush(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    with pytest.raises(CorpusError, match=r"file\.hdf5 was not closed by its writer; run `h5clear -s` on a copy"):
        open_file(path, "file.hdf5")


def test_layouts_are_told_by_content(tmp_path: Path) -> None:
    made.robomimic(tmp_path / "a.dat")
    made.aloha(tmp_path / "b.dat", 0, 5)
    made.csgo(tmp_path / "c.dat", 2)
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        file["data"] = np.zeros(3)
    assert [layout_of(tmp_path / f"{n}.dat") for n in "abc"] == ["robomimic", "aloha", "csgo"]
    assert layout_of(tmp_path / "d.hdf5") is None
    assert layout_of(tmp_path / "absent") is None
    assert layout_of(tmp_path) is None


def test_folders_are_told_by_what_lies_in_them(tmp_path: Path) -> None:
    made.csgo(tmp_path / "game" / "dm_1.hdf5", 2)
    assert layout_of(tmp_path / "game") == "csgo"
    made.robomimic(tmp_path / "demos" / "lift.hdf5")
    assert layout_of(tmp_path / "demos") is None
    # Nothing is read through a link that leaves the folder, not even to tell what it is.
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "dm_1.hdf5").symlink_to(tmp_path / "game" / "dm_1.hdf5")
    assert layout_of(tmp_path / "links") is None


def test_h5py_is_loaded_for_hdf5_alone(sample_corpus: Path, tmp_path: Path) -> None:
    """Other corpora, `--help` and telling formats apart do without it."""
    (tmp_path / "text.hdf5").write_bytes(b"no HDF5" * 100)
    code = (
        "import sys; from pathlib import Path; from gristmill import plugins; "
        "sources = [plugins.load('sources', n) for n in ('aloha', 'csgo', 'robomimic')]; "
        "print([s.recognizes(Path(p)) for s in sources for p in sys.argv[1:]], 'h5py' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(sample_corpus), str(tmp_path / "text.hdf5"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{[False] * 9} False"
