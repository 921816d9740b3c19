"""Measuring a corpus: what is owed is read and measured, what is known is not, and every batch is kept.

This is where store and engine meet, below recipes and commands.

    counters = run_measures(store, corpus, checks, cameras="sample", jobs=None, progress=show)
    for name, check in checks.items():
        findings = check.judge(manifest_for(store, corpus, check))
"""

from gristmill.engine.plan import Counters
from gristmill.measuring.ledger import Ledger, episode_id, ledger_of
from gristmill.measuring.manifests import digests_of, manifest_for, unreadable, unreadable_cameras
from gristmill.measuring.planning import Cameras, owed
from gristmill.measuring.run import run_measures
from gristmill.measuring.stored_traces import stored_traces
from gristmill.stage_keys import key_of

__all__ = [
    "Cameras",
    "Counters",
    "Ledger",
    "digests_of",
    "episode_id",
    "key_of",
    "ledger_of",
    "manifest_for",
    "owed",
    "run_measures",
    "stored_traces",
    "unreadable",
    "unreadable_cameras",
]
