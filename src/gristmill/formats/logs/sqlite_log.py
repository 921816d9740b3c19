"""rosbag2's SQLite files (.db3): topics, definitions where the version has them, messages by row."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.blocks import zstd_message
from gristmill.formats.logs.stream import (
    MAX_BLOCK_BYTES,
    NONE,
    Entries,
    Format,
    LogDamageError,
    Loss,
    Message,
    Topic,
    joined,
    one_line,
)

MAGIC = b"SQLite format 3\0"
# SQLite quotes damaged names in what it says of them, which then does not decode.
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
_READ = ("topics", "messages", "message_definitions")
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)


class SqliteLog:
    """One .db3 file. It is opened read-only and as immutable, so that SQLite writes nothing beside it.

    Args:
        path: the file.
        encodings: topic -> encoding by the metadata beside it, which counts where the two differ.
        compressed: each message is compressed by itself with zstd.

    Raises:
        CorpusError: it is no such file, or nothing of it can be read.
    """

    container = "rosbag2 SQLite"

    def __init__(self, path: Path, *, encodings: Mapping[str, str] | None = None, compressed: bool = False) -> None:
        self.path = path
        self._encodings, self._compressed = encodings or {}, compressed
        try:
            place = quote(str(path.resolve()))
            self._db = sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True)
            self._db.text_factory = _text  # damaged text is no reason to lose the numbers
            # What a file defines is not trusted: its views and triggers may call no function that does harm.
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BLOCK_BYTES)
            self._tables = {str(n) for (n,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            computed = [name for name in _READ if name in self._tables and self._computes(name)]
        except _TROUBLE as error:
            raise CorpusError(f"{path}: no readable SQLite file ({one_line(error)}); restore it") from None
        if not {"topics", "messages"} <= self._tables:
            self._db.close()
            raise CorpusError(f"{path}: an SQLite file without the tables topics and messages is no rosbag2 recording")
        if computed:
            self._db.close()
            raise CorpusError(
                f"{path}: its table {computed[0]} is not stored but computed, which no recorder writes; record it anew"
            )
        try:
            self.losses: tuple[Loss, ...] = self._losses()
            self.topics: Mapping[str, Topic] = self._topics()
        except BaseException:
            self._db.close()
            raise

    def _computes(self, table: str) -> bool:
        """Whether values of a table come from its definition, which can ask for any amount of memory or time."""
        hidden = [row[6] for row in self._db.execute(f"PRAGMA table_xinfo({table})")]  # one of `_READ`
        (sql,) = self._db.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        return any(hidden) or bool(_VIRTUAL.match(str(sql)))

    def _losses(self) -> tuple[Loss, ...]:
        """Messages that only the journal holds, which SQLite would have to write into the file first."""
        losses = list(self._listed[1])
        journal = self.path.with_name(f"{self.path.name}-wal")
        if journal.is_file() and journal.stat().st_size:
            message = f"{self.path.name} was not closed: what {journal.name} holds is not read"
            losses.append(
                Loss(
                    "log_truncated", message, f"Open a copy of both files with sqlite3 once, then use {self.path.name}."
                )
            )
        return tuple(losses)

    def _topics(self) -> dict[str, Topic]:
        """Topics by name, in order of their names."""
        definitions = self._definitions()
        by_name: dict[str, dict[int, Format]] = {}
        rows = self._query("SELECT id, name, type, serialization_format FROM topics ORDER BY id")
        for number, name, kind, encoding in rows:
            if not isinstance(number, int):
                raise CorpusError(f"{self.path}: topic {one_line(name)!r} has no number as its id; restore the file")
            base = str(kind).removesuffix("_Event")
            schema_encoding, schema = definitions.get(str(kind), definitions.get(base, ("", b"")))
            form = Format(
                type=str(kind),
                encoding=self._encodings.get(str(name)) or str(encoding),
                schema_encoding=schema_encoding,
                schema=schema,
            )
            by_name.setdefault(str(name), {})[number] = form
        counts = {c: len(e) for c, e in self._places.items()}
        return {
            name: Topic(name=name, formats=by_name[name], count=sum(counts.get(c, 0) for c in by_name[name]))
            for name in sorted(by_name)
        }

    def entries(self, topic: str) -> Entries:
        """The places of a topic's messages: their row numbers."""
        return joined([self._places.get(c, NONE) for c in self.topics[topic].formats])

    def read(self, entries: Entries) -> Iterator[Message]:
        """These messages, row by row."""
        for time_ns, _, row, channel in entries.rows():
            found = self._query("SELECT data FROM messages WHERE id = ?", (row,))
            if not found or not isinstance(found[0][0], bytes):
                raise LogDamageError(f"{self.path}: row {row} of messages holds no data; restore the file")
            data = zstd_message(found[0][0], self.path) if self._compressed else found[0][0]
            yield Message(channel, time_ns, time_ns, memoryview(data))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # -- inner ---------------------------------------------------------------------------------------

    @property
    def _places(self) -> dict[int, Entries]:
        return self._listed[0]

    @cached_property
    def _listed(self) -> tuple[dict[int, Entries], tuple[Loss, ...]]:
        """All messages' places by topic; a damaged page ends them, and what comes after is lost."""
        losses: list[Loss] = []
        parts: list[np.ndarray] = []
        try:
            cursor = self._db.execute("SELECT topic_id, timestamp, id FROM messages ORDER BY id")
            while rows := cursor.fetchmany(65_536):
                parts.append(np.array(rows, np.int64))
        except _TROUBLE as error:
            kept = sum(map(len, parts))
            if not kept:
                raise CorpusError(
                    f"{self.path}: its messages cannot be read ({one_line(error)}); restore the file"
                ) from None
            message = (
                f"{self.path.name} is damaged or cut off ({one_line(error)}); {kept} messages before that are read"
            )
            losses.append(Loss("log_truncated", message, "Copy the file again from the robot."))
        except (ValueError, TypeError, OverflowError):
            raise CorpusError(f"{self.path}: its messages have times or topics that are no numbers") from None
        table = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
        found = {}
        for topic in np.unique(table[:, 0]).tolist():
            rows = table[table[:, 0] == topic]
            zeros = np.zeros(len(rows), np.int64)
            found[topic] = joined([Entries(rows[:, 1].copy(), zeros, rows[:, 2].copy(), rows[:, 0].copy())])
        return found, tuple(losses)

    def _definitions(self) -> dict[str, tuple[str, bytes]]:
        if "message_definitions" not in self._tables:
            return {}
        rows = self._query("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
        return {str(kind): (str(encoding), str(text).encode()) for kind, encoding, text in rows if text}

    def _query(self, sql: str, values: tuple = ()) -> list[tuple]:
        try:
            return self._db.execute(sql, values).fetchall()
        except _TROUBLE as error:
            raise LogDamageError(f"{self.path}: cannot be read ({one_line(error)}); restore the file") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
