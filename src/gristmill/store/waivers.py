"""Findings that a person accepted. They persist, and they enter a snapshot's lineage."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gristmill.errors import UsageError
from gristmill.store.files import read_json, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One accepted check of one episode."""

    episode_id: str
    check: str
    reason: str
    since: int  # seconds since 1970
    values_digest: str = ""  # the recording that was looked at; "" when it was not known


class Waivers:
    """All waivers of a store, one file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "waivers.json"

    def all(self) -> list[Waiver]:
        """Every waiver, by episode and check."""
        return [Waiver(**entry) for entry in read_json(self._file, [])]

    def of(self, corpus_key: str) -> dict[tuple[str, str], Waiver]:
        """(episode id, check) -> waiver, of one corpus."""
        return {(w.episode_id, w.check): w for w in self.all() if w.episode_id.rpartition("/")[0] == corpus_key}

    def put(self, episode_id: str, check: str, reason: str, values_digest: str = "") -> Waiver:
        """Accept what a check finds in an episode; an earlier waiver of the two is replaced.

        Raises:
            UsageError: no reason is given.
        """
        if not reason.strip():
            raise UsageError("a waiver needs a reason: say why this finding is acceptable")
        made = Waiver(
            episode_id=episode_id,
            check=check,
            reason=reason.strip(),
            since=int(time.time()),
            values_digest=values_digest,
        )
        others = [w for w in self.all() if (w.episode_id, w.check) != (episode_id, check)]
        self._write([*others, made])
        return made

    def remove(self, episode_id: str, check: str) -> bool:
        """Take a waiver back; False when there was none."""
        before = self.all()
        after = [w for w in before if (w.episode_id, w.check) != (episode_id, check)]
        if len(after) < len(before):
            self._write(after)
        return len(after) < len(before)

    def _write(self, waivers: list[Waiver]) -> None:
        write_json(self._file, [asdict(w) for w in sorted(waivers, key=lambda w: (w.episode_id, w.check))])
