"""CS:GO deathmatch recordings (Pearce and Zhu, 2022): a folder of HDF5 files, or one such file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.hdf5.kinds import files_of, layout_of
from gristmill.sources import Locator

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.formats.recorded import RecordedCorpus


class Csgo:
    """A game recorded with keys and mouse; what is read is in `gristmill.formats.hdf5.csgo_frames`."""

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """What the files leave unsaid."""

        rate_hz: float = field(default=16.0, metadata={"min": 0.001})  # config.py: loop_fps = 16
        task: str | None = None  # the instruction, for all episodes

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether it holds frames `frame_N_x`, or is HDF5 that nobody can look into."""
        return layout_of(path) in ("csgo", "unknown")

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: Options | None = None
    ) -> RecordedCorpus:
        """Open a folder or a file: frames are counted, not read.

        Args:
            path: the folder or the file.
            key: the corpus's key in the store.
            card: the embodiment card; by default one without limits.
            options: rate and task.

        Raises:
            CorpusError: it cannot be opened, or h5py is absent.
            UnsafeCorpusError: a path leads out of the corpus.
        """
        from gristmill.formats.files import CorpusFiles
        from gristmill.formats.hdf5.opening import require_library

        options = options or cls.Options()
        place = path.expanduser().resolve()
        require_library(place.name)
        from gristmill.formats.hdf5.csgo_frames import FrameReader, specs, survey
        from gristmill.formats.hdf5.handles import OpenFiles
        from gristmill.formats.recorded import RecordedCorpus

        folder, names = (place, files_of(place)) if place.is_dir() else (place.parent, [place.name])
        files = OpenFiles(CorpusFiles(folder))
        headers = survey(files, names, () if options.task is None else (options.task,))
        reader = FrameReader(files, options.rate_hz)
        for header in (h for h in headers if not h.place.broken):
            try:
                declared = specs(reader.channels(header))
                screen = reader.info(header)
                break
            except RecordingError as error:
                trouble = error
        else:
            raise CorpusError(str(trouble))
        return RecordedCorpus(
            key=key,
            root=place,
            format="CS:GO HDF5",
            rate_hz=options.rate_hz,
            headers=headers,
            channels=declared,
            cameras={screen.key: screen},
            reader=reader,
            locator=Locator(source="csgo", path=str(place), key=key, card=card, options=options),
            card=card,
            robot_type="csgo",
        )
