"""A run that is meant to be killed: measures, compacts and collects garbage, and says when it begins.

    python kill_me.py STORE SPEC JOBS

Batches are small and compaction comes early, so that a kill at a random moment often meets them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lance  # the slow import comes before it says that it begins
from made_corpus import Late, Light, MadeCorpus, Means, OpenMade, Words

from gristmill.engine import local, measure
from gristmill.measuring import run_measures
from gristmill.store import Store, pending, store

CHECKS = {"means": Means(), "words": Words(), "late": Late(), "light": Light()}


def main() -> None:
    folder, spec, jobs = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    measure.PART_ROWS = 3
    pending.ROWS = pending.EVERY_S = pending.COSTLY_EVERY_S = 0
    store.FRAGMENTS_MAX = 2
    local.POOL_FROM_S = 0.0
    corpus = MadeCorpus(spec)
    assert lance.__version__
    print("begins", flush=True)
    with Store.open(folder) as opened:
        run_measures(opened, corpus, CHECKS, jobs=jobs, reopen=OpenMade(spec))
        print("measured", flush=True)
        while "--again" in sys.argv:
            # Nothing is owed any more; only the housekeeping can be hit.
            opened.compact(everything=True)
            opened.gc()


if __name__ == "__main__":
    main()
