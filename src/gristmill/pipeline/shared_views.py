"""Footage that stands in two corpora of one training set, beside different numbers in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gristmill import measuring
from gristmill.audit import Audit
from gristmill.episode import Corpus
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.recipe import Recipe
from gristmill.store import Store

_CHECK = "footage"


def shared_views(store: Store, recipe: Recipe, audited: Sequence[tuple[Audit, Corpus]]) -> list[Audit]:
    """The audits, with a defect for each video that an earlier corpus of the recipe has beside other numbers.

    Within one corpus the check `footage` tells it; an audit sees no more than one corpus, and a training set made of
    several would hold what its own audit condemns. Episodes whose numbers are equal too are exact copies, which go
    before any finding counts.
    """
    check = recipe.checks.get(_CHECK)
    audits = [audit for audit, _ in audited]
    if check is None or len(audits) < 2:
        return audits
    seen: dict[str, tuple[str, str]] = {}  # digest of a video -> episode and camera, digest of its values
    for at, (audit, corpus) in enumerate(audited):
        manifest = measuring.manifest_for(store, corpus, check, rows=audit.rows, name=_CHECK)
        found: list[Finding] = []
        own: dict[str, tuple[str, str]] = {}
        for row, id_ in enumerate(audit.ids):
            values = manifest.values_digest[row] if manifest.values_digest else ""
            for key, digest in _videos(manifest, row, check.min_distinct):
                where, numbers = seen.get(digest, ("", ""))
                if where and not (values and values == numbers) and (id_, _CHECK) not in audit.waived:
                    message = (
                        f"{key} of {manifest.where(row)} is the same video as {where}; one of them shows another "
                        "moment than its numbers, and both sides of a split may show it"
                    )
                    found.append(
                        finding(check, Kind.DEFECT, row, message, camera=key, measured=1.0, code="same_footage")
                    )
                own.setdefault(digest, (f"{key} of {id_}", values))
        seen = own | seen
        if found:
            findings = sorted((*audit.findings, *found), key=lambda f: f.row or 0)
            audits[at] = replace(audit, findings=findings)
    return audits


def _videos(manifest: Manifest, row: int, least: int) -> list[tuple[str, str]]:
    """Cameras of an episode whose videos show enough to be told apart, and the digests of those."""
    distinct = manifest["distinct"]
    digests = ((key, manifest.camera_digests[key][row]) for key in manifest.cameras)
    return [(key, digest) for at, (key, digest) in enumerate(digests) if digest and distinct[row, at] >= least]
