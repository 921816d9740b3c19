"""Path templates of `info.json`: parsed once, and nothing but plain numbers and keys can enter them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from string import Formatter

from gristmill.errors import CorpusError, UnsafeCorpusError

DATA_V2 = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_V2 = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
DATA_V3 = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_V3 = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"

_NUMBERS = frozenset({"episode_chunk", "episode_index", "chunk_index", "file_index"})
_KEYS = frozenset({"video_key"})
_NUMBER_SPEC = re.compile(r"(0?[0-9]{1,2})?d?")  # a width of at most 99, so that no path grows without bound


@dataclass(frozen=True)
class Template:
    """A path template that is safe to fill in."""

    text: str
    fields: frozenset[str]

    @classmethod
    def parse(cls, text: str, name: str) -> Template:
        """Check a template.

        Args:
            text: as declared, such as "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet".
            name: how errors name it ("meta/info.json: data_path").

        Raises:
            UnsafeCorpusError: it leads outside the corpus or reaches into objects.
            CorpusError: it has a field that the format does not know.
        """
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise CorpusError(f"{name} is {text[:80]!r} ({error}); write it as {DATA_V3!r}") from None
        fields = set()
        for _, field, spec, conversion in parts:
            if field is None:
                continue
            if re.search(r"[.\[]", field) or conversion or len(spec or "") > 8:
                raise UnsafeCorpusError(
                    f"{name} has the field {{{field[:60]}}}, which reaches into objects; correct it"
                )
            allowed = _NUMBER_SPEC if field in _NUMBERS else re.compile("s?")
            if field not in _NUMBERS | _KEYS or not allowed.fullmatch(spec or ""):
                shown = f"{{{field[:40]}:{spec}}}" if spec else f"{{{field[:40]}}}"
                raise CorpusError(
                    f"{name} has the field {shown}; known are {', '.join(sorted(_NUMBERS | _KEYS))} "
                    f"with formats such as 03d"
                )
            fields.add(field)
        literal = "".join(part for part, *_ in parts)
        if literal.startswith("/") or ".." in PurePosixPath(text).parts or "\0" in literal or "\\" in literal:
            raise UnsafeCorpusError(f"{name} is {text[:80]!r}, which leaves the corpus; nothing was read, correct it")
        return cls(text, frozenset(fields))

    def fill(self, **values: int | str) -> str:
        """The path for these values; those that the template does not use are ignored."""
        return self.text.format(**values)


class EpisodePaths(Sequence[str]):
    """One path an episode (v2.x), made when asked for.

    Some datasets declare a template that does not fit their files. A file that is not where the declared template
    says but where the usual one does is taken from there.
    """

    def __init__(
        self,
        templates: Sequence[Template],
        index: Sequence[int],
        chunks_size: int,
        exists: Callable[[str], bool],
        video_key: str = "",
    ) -> None:
        self._templates = list(dict.fromkeys(templates))
        self._index = index
        self._chunks_size = chunks_size
        self._exists = exists
        self._video_key = video_key

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, row: int) -> str:  # type: ignore[override]
        declared = self.declared(row)
        if len(self._templates) > 1 and not self._exists(declared):
            for template in self._templates[1:]:
                if self._exists(path := self._fill(template, row)):
                    return path
        return declared

    def declared(self, row: int) -> str:
        """What the declared template says, wherever the file really lies."""
        return self._fill(self._templates[0], row)

    def _fill(self, template: Template, row: int) -> str:
        episode = int(self._index[row])
        chunk = episode // self._chunks_size
        return template.fill(
            episode_chunk=chunk, episode_index=episode, video_key=self._video_key, chunk_index=chunk, file_index=episode
        )


class PackedPaths(Sequence[str]):
    """Files that hold many episodes (v3.0): `ids` says for each episode which of `names`, or -1.

    `moved` are pairs of the path that the declared template gives and the one where the file was found.
    """

    def __init__(self, ids: Sequence[int], names: Sequence[str], moved: Sequence[tuple[str, str]] = ()) -> None:
        self.ids = ids
        self.names = names
        self.moved = moved

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> str:  # type: ignore[override]
        number = int(self.ids[row])
        return self.names[number] if number >= 0 else ""
