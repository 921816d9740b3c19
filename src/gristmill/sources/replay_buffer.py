"""Replay buffers of diffusion policy and UMI: Zarr v2 or v3, in a folder or a zip archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gristmill.embodiment import Embodiment
from gristmill.formats.recorded import RecordedCorpus
from gristmill.sources import Locator


class ReplayBuffer:
    """`data/*` with time first and `meta/episode_ends`; see `gristmill.formats.zarr_buffer`."""

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """What the format leaves unsaid."""

        rate_hz: float | None = field(default=None, metadata={"min": 1e-3})  # frames a second
        task: str = ""  # what all episodes do
        # Arrays that are state and action where their names do not tell.
        state: tuple[str, ...] = ()
        action: tuple[str, ...] = ()
        names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # channel -> names of its dimensions
        # Chunks that are not there were lost, or hold the fill value, which writers may leave out.
        absent_chunks: Literal["lost", "fill"] = "lost"

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether a folder or a zip archive holds `meta/episode_ends`, an array of Zarr."""
        from gristmill.formats.zarr_buffer.places import is_buffer

        return is_buffer(path)

    @classmethod
    def open(
        cls, path: Path, *, key: str, card: Embodiment | None = None, options: Options | None = None
    ) -> RecordedCorpus:
        """Open a buffer: declarations and ends of episodes are read, files are listed and stamped.

        Args:
            path: the folder that holds `data` and `meta`, or the archive.
            key: the corpus's key in the store.
            card: the embodiment card; by default one that fits.
            options: what the format leaves unsaid.

        Raises:
            CorpusError: nothing can be read, or the rate is not stated.
            UnsafeCorpusError: a link or a name leads outside, sizes are not possible, or objects would be unpickled.
        """
        from gristmill.formats.zarr_buffer.corpus import open_buffer

        options = options or cls.Options()
        locator = Locator(source="replay_buffer", path=str(path), key=key, card=card, options=options)
        return open_buffer(path, key=key, card=card, options=options, locator=locator)
