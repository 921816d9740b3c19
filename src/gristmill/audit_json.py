"""An audit as JSON, streamed, in a stable order, with null for what is not finite.

The JSON Schema lies beside the code: `schemas/audit.schema.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from gristmill.audit import Audit
from gristmill.finding import Finding
from gristmill.outputs import output

SCHEMA_VERSION = 1
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY


def schema() -> dict[str, Any]:
    """The JSON Schema of what `write` writes."""
    return orjson.loads(files("gristmill").joinpath("schemas/audit.schema.json").read_bytes())


def write(audit: Audit, path: Path) -> None:
    """Write the audit beside `path` and swap it in."""
    with output(path) as out:
        stream(audit, out)


def stream(audit: Audit, out: BinaryIO) -> None:
    """Write the audit to an open file, an episode at a time."""
    out.write(b'{"schema":%d,"corpus":' % SCHEMA_VERSION)
    out.write(_dump(_corpus(audit)))
    out.write(b',\n"episodes":[')
    first = True
    for episode in episodes(audit):
        out.write(b"\n" if first else b",\n")
        out.write(_dump(episode))
        first = False
    out.write(b'\n],\n"corpus_findings":')
    out.write(_dump([_finding(f, audit.facts.key) for f in audit.corpus_findings]))
    out.write(b',\n"not_checked":')
    out.write(_dump([n._asdict() for n in audit.not_checked]))
    out.write(b"}\n")


def episodes(audit: Audit) -> Iterator[dict[str, Any]]:
    """One mapping an episode, in corpus order."""
    by_row = {row: list(group) for row, group in groupby(audit.findings, key=lambda f: f.row)}
    names = sorted(audit.metrics)
    columns = [np.asarray(audit.metrics[name], dtype=float) for name in names]
    for row in range(len(audit.index)):
        yield {
            "episode_index": int(audit.index[row]),
            "episode_id": _text(audit.ids[row]),
            "length": int(audit.length[row]),
            "verdict": str(audit.verdict[row]),
            "usable_for": list(audit.usable_for[row]),
            "reasons": list(audit.reasons.get(row, ())),
            "tasks": [_text(t) for t in audit.tasks[row]],
            "findings": [_finding(f, audit.ids[row]) for f in by_row.get(row, ())],
            "metrics": {name: float(column[row]) for name, column in zip(names, columns, strict=True)},
        }


def _corpus(audit: Audit) -> dict[str, Any]:
    facts = audit.facts
    return {
        "key": _text(facts.key),
        "root": _text(facts.root),
        "format": facts.format,
        "robot_type": _text(facts.robot_type),
        "rate_hz": facts.rate_hz,
        "episodes": len(audit.index),
        "frames": int(audit.length.sum()),
        "cameras": [_text(c) for c in facts.cameras],
        "card": {"key": audit.embodiment.key, "inferred": audit.embodiment.inferred},
        "good_episodes": audit.good,
        "waived": [
            {"episode_id": _text(e), "check": c, "reason": _text(r)} for (e, c), r in sorted(audit.waived.items())
        ],
    }


def _finding(f: Finding, key: str) -> dict[str, Any]:
    return {
        "id": f.id(key),
        "check": f.check,
        "code": f.code,
        "kind": str(f.kind),
        "channel": None if f.channel is None else _text(f.channel),
        "camera": None if f.camera is None else _text(f.camera),
        "spans_s": [[s.start_s, s.end_s] for s in f.spans_s],
        "measured": f.measured,
        "threshold": f.threshold,
        "unit": f.unit,
        "message": _text(f.message),
        "fix": _text(f.fix),
    }


def _text(text: str) -> str:
    """Lone surrogates (bytes that were no UTF-8) cannot stand in JSON; they become replacement marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, option=_OPTIONS)
