"""robomimic's HDF5 files, and those that follow them: robosuite, MimicGen, LIBERO, Isaac Lab."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.hdf5.kinds import layout_of
from gristmill.sources import Locator

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.formats.hdf5.demos import Demos
    from gristmill.formats.recorded import RecordedCorpus


class Robomimic:
    """One file that holds demonstrations `data/demo_N`; what is read of it is in `gristmill.formats.hdf5.demos`."""

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """What the file may leave unsaid."""

        rate_hz: float | None = field(default=None, metadata={"min": 0.001})  # control steps a second
        task: str | None = None  # the instruction, for all episodes

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether it is an HDF5 file with demonstrations, or an HDF5 file that nobody can look into."""
        return layout_of(path) in ("robomimic", "unknown") and not path.is_dir()

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: Options | None = None
    ) -> RecordedCorpus:
        """Open a file: the demonstrations are listed, no values are read.

        Args:
            path: the file.
            key: the corpus's key in the store.
            card: the embodiment card; by default one that fits.
            options: rate and task, where the file does not say them or says them wrong.

        Raises:
            CorpusError: it cannot be opened, h5py is absent, or nobody says the rate.
            UnsafeCorpusError: a link or a dataset leads to another file.
        """
        from gristmill.formats.files import CorpusFiles
        from gristmill.formats.hdf5.opening import require_library

        options = options or cls.Options()
        place = path.expanduser().resolve()
        require_library(place.name)
        from gristmill.formats.hdf5.demos import survey
        from gristmill.formats.hdf5.group_reader import GroupReader
        from gristmill.formats.hdf5.handles import OpenFiles
        from gristmill.formats.recorded import RecordedCorpus

        files = OpenFiles(CorpusFiles(place.parent))
        opened = files.opened(place.name, salvage=True, texts=True)
        try:
            found = survey(opened, files.stamp(place.name))
        except RecordingError as error:
            raise CorpusError(str(error)) from None
        if not found.headers:
            cut = next((issue.message for issue in found.issues if issue.code == "truncated"), "")
            raise CorpusError(cut or f"{place.name} holds no demonstration; nothing can be read of it")
        rate_hz = options.rate_hz or found.environment.rate_hz
        if rate_hz is None:
            raise CorpusError(
                f"{place.name} does not say how many steps a second it was recorded at; "
                "state it: --option rate_hz=20 (20 Hz is robosuite's default)"
            )
        scene = found.environment
        tasks = (options.task,) if options.task is not None else None
        default = (scene.task or scene.name,) if scene.task or scene.name else ()
        return RecordedCorpus(
            key=key,
            root=place,
            format="Isaac Lab HDF5" if _is_isaac(found) else "robomimic HDF5",
            rate_hz=rate_hz,
            headers=[replace(h, tasks=tasks or h.tasks or default) for h in found.headers],
            channels=[f.spec for f in found.fields if not f.is_camera],
            cameras={f.key: f.info(rate_hz) for f in found.fields if f.is_camera},
            reader=GroupReader(files, rate_hz, salvage=True),
            locator=Locator(source="robomimic", path=str(place), key=key, card=card, options=options),
            card=card,
            robot_type="_".join(robot.lower() for robot in scene.robots),
            issues=tuple(found.issues),
            info=_info(found),
            unread=found.unread,
        )


def _is_isaac(found: Demos) -> bool:
    """Isaac Lab keeps its simulator's state as a tree of named arrays, robomimic as one flat array."""
    return any(f.path.startswith("states/") for f in found.fields)


def _info(found: Demos) -> dict[str, Any]:
    """What an export carries on of the file's own metadata."""
    told = {"env_args": found.environment.args, "masks": found.masks}
    told = {name: value for name, value in told.items() if value}
    return {"robomimic": told} if told else {}
