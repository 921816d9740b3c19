"""Which layout an HDF5 file or a folder of them has, told by its content."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.hdf5.opening import DAMAGE, has_library, has_magic, open_file

if TYPE_CHECKING:
    from gristmill.formats.hdf5.tree import Group

# "unknown": an HDF5 file into which nobody can look, because h5py is absent or the file is broken. Every source
# answers to it, so that opening it says what is wrong.
Layout = Literal["robomimic", "aloha", "csgo", "unknown"]

ENDINGS = (".hdf5", ".h5")
EPISODE = re.compile(r"episode_(\d+)\.(?:hdf5|h5)", re.IGNORECASE)
FRAME = re.compile(r"frame_(\d+)_(x|y|xaux|helperarr)")
DEMO = re.compile(r"demo_(\d+)")
_LOOKED_AT = 64  # names of the root group, and files of a folder


def layout_of(path: Path) -> Layout | None:
    """The layout of a file, or of a folder that holds ALOHA's or CS:GO's files; None when it is another thing."""
    if path.is_dir():
        return _of_folder(path)
    try:
        stat = path.stat()
    except OSError:
        return None
    if not stat.st_size and path.suffix.lower() in ENDINGS:
        return "unknown"
    return _of_file(path, (stat.st_size, stat.st_mtime_ns, stat.st_ino))


def files_of(folder: Path) -> list[str]:
    """Names of the HDF5 files in a folder, by their ending, in order."""
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.name.lower().endswith(ENDINGS) and not e.is_dir())


def _of_folder(folder: Path) -> Layout | None:
    try:
        names = files_of(folder)
    except OSError:
        return None
    if any(EPISODE.fullmatch(name) for name in names):
        wanted, names = "aloha", [name for name in names if EPISODE.fullmatch(name)]
    else:
        wanted = "csgo"
    files = CorpusFiles(folder)
    for name in names[:_LOOKED_AT]:
        try:
            found = layout_of(files.path(name))
        except UnsafeCorpusError:
            continue  # a link that leaves the folder is not followed; opening the folder tells of it
        if found == wanted:
            return wanted
        if found == "unknown" and not has_library():
            return "unknown"
    return None


@lru_cache(maxsize=256)
def _of_file(path: Path, stamp: tuple[int, int, int]) -> Layout | None:
    if not has_magic(path):
        return None
    if not has_library():
        return "unknown"
    try:
        opened = open_file(path, path.name, salvage=True)
    except CorpusError:
        return "unknown"
    from gristmill.formats.hdf5 import tree

    try:
        top = tree.root(opened)
        names = [n.decode("utf-8", "replace") for n in islice(top, _LOOKED_AT)]
        if any(FRAME.fullmatch(name) for name in names):
            return "csgo"
        if "action" in names and "observations" in names:
            return "aloha"
        return "robomimic" if "data" in names and _holds_demos(top) else None
    except (RecordingError, CorpusError, *DAMAGE):
        return "unknown"
    finally:
        opened.close()


def _holds_demos(top: Group) -> bool:
    from gristmill.formats.hdf5 import attributes, tree

    data = tree.member(top, "data", "the file")
    if data is None or not isinstance(data, tree.Group):
        return False
    members = (n.decode("utf-8", "replace") for n in islice(data, _LOOKED_AT))
    return any(DEMO.fullmatch(n) for n in members) or attributes.exists(data, "env_args")
