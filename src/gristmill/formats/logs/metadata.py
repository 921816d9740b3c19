"""rosbag2's `metadata.yaml`: which files make up one log, and how their messages are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.errors import CorpusError
from gristmill.formats.files import CorpusFiles

NAME = "metadata.yaml"
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """What is read of it."""

    storage: str  # "mcap" or "sqlite3"
    files: tuple[str, ...]  # relative to the folder, in order
    encodings: Mapping[str, str] = field(default_factory=dict)  # topic -> serialization format
    compression_mode: str = ""  # "", "file" or "message"
    compression_format: str = ""

    @property
    def writing(self) -> str:
        """Equal where messages are written alike."""
        return repr((self.storage, sorted(self.encodings.items()), self.compression_mode, self.compression_format))


def read_metadata(files: CorpusFiles, relative: str) -> Metadata:
    """Read a metadata file.

    Raises:
        CorpusError: it is damaged, or names no files.
        UnsafeCorpusError: it is a link that leaves the corpus.
    """
    try:
        from ruamel.yaml import YAML
    except ModuleNotFoundError as error:
        raise CorpusError(f"{relative}: {error.name} is not installed; run pip install 'gristmill[logs]'") from None
    path = files.path(relative)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise CorpusError(f"{path}: larger than {_MAX_BYTES >> 20} MiB, so it is no rosbag2 metadata")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read ({error})") from None
    try:
        # The safe loader makes plain values only.
        loaded = YAML(typ="safe", pure=True).load(text)
    except Exception as error:  # noqa: BLE001 - the library lets its own mistakes through on tagged values: KeyError, ...
        raise CorpusError(f"{path}: not valid YAML ({' '.join(str(error).split())[:200]}); restore it") from None
    info = _table(_table(loaded).get("rosbag2_bagfile_information"))
    names = info.get("relative_file_paths")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise CorpusError(f"{path}: names no recording under relative_file_paths; run ros2 bag reindex")
    listed = info.get("topics_with_message_count")
    topics = [_table(_table(t).get("topic_metadata")) for t in listed] if isinstance(listed, list) else []
    return Metadata(
        storage=str(info.get("storage_identifier") or ""),
        # Early versions of rosbag2 wrote the folder's own name before the file's.
        files=tuple(n if files.stamp(_beside(relative, n)) else Path(n).name for n in names),
        encodings={str(t.get("name")): str(t.get("serialization_format") or "") for t in topics},
        compression_mode=str(info.get("compression_mode") or "").lower(),
        compression_format=str(info.get("compression_format") or ""),
    )


def _beside(relative: str, name: str) -> str:
    parent = Path(relative).parent.as_posix()
    return name if parent == "." else f"{parent}/{name}"


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
