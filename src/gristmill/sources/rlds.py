"""RLDS data sets: TFRecord shards that TensorFlow Datasets writes, one episode a record, read without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gristmill.embodiment import Embodiment
from gristmill.formats.recorded import RecordedCorpus
from gristmill.sources import Locator


class Rlds:
    """Folders of `*.tfrecord-00000-of-00001` with `features.json` and `dataset_info.json`, or a single shard."""

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """What the format leaves unsaid."""

        rate_hz: float | None = field(default=None, metadata={"min": 1e-3})  # steps a second
        task: str = ""  # for episodes without an instruction
        split: str = ""  # read only this one
        # Entries that are state and action where their names do not tell: "observation.joint_positions".
        state: tuple[str, ...] = ()
        action: tuple[str, ...] = ()
        names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # channel -> names of its dimensions

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether a file or folder holds records framed as TFRecords, in the folder itself or up to two below."""
        from gristmill.errors import CorpusError
        from gristmill.formats.tfrecord.shards import is_shard, version_folder

        if path.is_file():
            return is_shard(path)
        try:
            return version_folder(path) is not None
        except CorpusError:
            return True  # several data sets: opening says which

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: Options | None = None
    ) -> RecordedCorpus:
        """Open a data set: every record's header is read, no picture is decoded.

        Args:
            path: the folder of a version, one above it, or one shard.
            key: the corpus's key in the store.
            card: the embodiment card; by default one that fits.
            options: what the format leaves unsaid.

        Raises:
            CorpusError: nothing can be read, or the rate is not stated.
            UnsafeCorpusError: a link leads outside.
        """
        from gristmill.formats.tfrecord.corpus import open_dataset

        options = options or cls.Options()
        locator = Locator(source="rlds", path=str(path), key=key, card=card, options=options)
        return open_dataset(path, key=key, card=card, options=options, locator=locator)
