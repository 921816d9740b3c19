"""ALOHA's HDF5 recordings: a folder of `episode_N.hdf5`, or one such file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gristmill.errors import CorpusError
from gristmill.formats.hdf5.kinds import EPISODE, files_of, layout_of
from gristmill.sources import Locator

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.formats.recorded import RecordedCorpus


class Aloha:
    """Bimanual recordings of ALOHA and Mobile ALOHA; what is read is in `gristmill.formats.hdf5.aloha_files`."""

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """What the files leave unsaid."""

        rate_hz: float = field(default=50.0, metadata={"min": 0.001})  # ALOHA's DT is 0.02 s
        task: str | None = None  # the instruction, for all episodes
        # How compressed images come out of a decoder. The original recorder hands red, green, blue to an encoder that
        # expects blue, green, red; what it wrote is "bgr".
        image_order: Literal["rgb", "bgr"] = "rgb"

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether it holds ALOHA's episodes, or is an HDF5 file or a folder of them that nobody can look into."""
        return layout_of(path) in ("aloha", "unknown")

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: Options | None = None
    ) -> RecordedCorpus:
        """Open a folder or a file: the episodes are listed, no values are read.

        Args:
            path: the folder or the file.
            key: the corpus's key in the store.
            card: the embodiment card; by default ALOHA's when the recording has its 14 joints.
            options: rate, task and order of colours.

        Raises:
            CorpusError: it cannot be opened, or h5py is absent.
            UnsafeCorpusError: a link or a dataset leads out of the corpus.
        """
        from gristmill.formats.files import CorpusFiles
        from gristmill.formats.hdf5.opening import require_library

        options = options or cls.Options()
        place = path.expanduser().resolve()
        require_library(place.name)
        from gristmill.formats.hdf5.aloha_files import stray, survey
        from gristmill.formats.hdf5.group_reader import GroupReader
        from gristmill.formats.hdf5.handles import OpenFiles
        from gristmill.formats.recorded import RecordedCorpus

        folder = place if place.is_dir() else place.parent
        listed = files_of(folder) if place.is_dir() else [place.name]
        names = [name for name in listed if EPISODE.fullmatch(name)] if place.is_dir() else listed
        if not names:
            raise CorpusError(f"{place.name} holds no episode_N.hdf5; give the folder that does")
        files = OpenFiles(CorpusFiles(folder))
        found = survey(files, names, () if options.task is None else (options.task,))
        swapped = options.image_order == "bgr"
        if swapped:  # other pictures from the same bytes
            found.headers = [replace(h, stamp=h.stamp and f"{h.stamp}:swapped") for h in found.headers]
        return RecordedCorpus(
            key=key,
            root=place,
            format="ALOHA HDF5",
            rate_hz=options.rate_hz,
            headers=found.headers,
            channels=[f.spec for f in found.fields if not f.is_camera],
            cameras={f.key: f.info(options.rate_hz) for f in found.fields if f.is_camera},
            reader=GroupReader(files, options.rate_hz, swapped=swapped),
            locator=Locator(source="aloha", path=str(place), key=key, card=card, options=options),
            card=card,
            robot_type="aloha_sim" if found.simulated else "aloha",
            issues=(*found.issues, *stray(listed, names)),
            unread=found.unread,
        )
