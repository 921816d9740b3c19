"""A card drafted from a corpus: opens it, looks at some of its episodes, writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.drafting import draft
from gristmill.sources import open_path


def embody(corpus: str | Path, *, episodes: int = 40, options: Mapping[str, Any] | None = None) -> str:
    """The draft of a card as TOML text, with its evidence as comments.

    Args:
        corpus: a file, a folder or a hub id.
        episodes: at most so many are read, evenly over the corpus.
        options: what the format leaves unsaid.

    Raises:
        CorpusError: it cannot be opened, or no episode can be read.
        RecipeError: its format has no such option.
    """
    opened = open_path(corpus, options=options)
    count = len(opened.table)
    rows = np.unique(np.linspace(0, count - 1, min(episodes, count)).astype(int)).tolist() if count else []
    return draft(opened.facts, list(opened.episodes(rows)))
