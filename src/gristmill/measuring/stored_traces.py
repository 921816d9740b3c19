"""Camera traces that an earlier run stored, one episode at a time, for people who look at them."""

from __future__ import annotations

from gristmill.columns import lanes_of
from gristmill.engine.batches import arrays_of
from gristmill.engine.plan import TRACES
from gristmill.episode import Corpus
from gristmill.measuring.ledger import ledger_of
from gristmill.stage_keys import traces_key
from gristmill.store import Store
from gristmill.traces import CameraTraces, from_arrays


def stored_traces(store: Store, corpus: Corpus, row: int, camera: str) -> CameraTraces | None:
    """What was measured of a camera's frames, or None when it was not. No frame is decoded.

    Args:
        store: measurements.
        corpus: an opened corpus.
        row: of the corpus's table.
        camera: its key.
    """
    ledger = ledger_of(store, corpus)
    if camera not in ledger.cameras:
        return None
    digest = ledger.digests[f"camera:{camera}"][row][None]
    if not digest.any():
        return None
    stored = store.read(TRACES, traces_key(), digest)
    if stored is None or not stored["found"][0].as_py():
        return None
    batch = stored.drop_columns(["found"]).combine_chunks().to_batches()[0]
    assert (lanes_of(batch["input"]) == digest).all()
    return from_arrays(arrays_of(batch, 0))
